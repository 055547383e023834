#include "sim/app/commands/other_words.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "sim/app/command_line_error.hpp"

namespace headroom {
namespace {

struct OtherWord {
  std::string_view word;
  std::string_view own;
};

// Of vllm bench serve, SGLang's bench_serving, AIPerf, GuideLLM and servers.
constexpr std::array kOtherWords{OtherWord{"--rps", "--rate"},
                                 OtherWord{"--qps", "--rate"},
                                 OtherWord{"--request-rate", "--rate"},
                                 OtherWord{"--concurrency", "--users"},
                                 OtherWord{"--max-concurrency", "--users"},
                                 OtherWord{"--isl", "--in"},
                                 OtherWord{"--input", "--in"},
                                 OtherWord{"--input-len", "--in"},
                                 OtherWord{"--random-input-len", "--in"},
                                 OtherWord{"--osl", "--out"},
                                 OtherWord{"--output-len", "--out"},
                                 OtherWord{"--random-output-len", "--out"},
                                 OtherWord{"--gpu", "--device"},
                                 OtherWord{"--tp", "--devices"},
                                 OtherWord{"--tensor-parallel-size", "--devices"}};

}  // namespace

std::vector<std::string> in_own_words(const CLI::App& app, std::vector<std::string> words) {
  const CLI::App* command = &app;
  std::size_t at = 0;
  for (; at < words.size(); ++at) {
    const CLI::App* part = part_named(*command, words[at]);
    if (part == nullptr) break;
    command = part;
  }
  for (; at < words.size() && words[at] != "--"; ++at) {
    std::string& word = words[at];
    const std::string flag = word.substr(0, word.find('='));
    const auto other = std::ranges::find(kOtherWords, flag, &OtherWord::word);
    if (other == kOtherWords.end() || command->get_option_no_throw(flag) != nullptr) continue;
    const std::string own(other->own);
    if (command->get_option_no_throw(own) != nullptr) word.replace(0, flag.size(), own);
  }
  return words;
}

}  // namespace headroom
