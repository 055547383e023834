#pragma once
// An engine as people write it after --engine.

#include <string>
#include <string_view>

namespace headroom {

struct SaidEngine {
  std::string name;     // of the table of engines
  std::string version;  // empty: not said
};

// `text` is an engine, or engine@version. Its name or title is taken in any case and with or
// without its signs: "vLLM", "llama.cpp", "TensorRT-LLM". ConfigError of `flag`: no engine, or no
// release behind the @.
[[nodiscard]] SaidEngine said_engine(std::string_view text, std::string_view flag);

}  // namespace headroom
