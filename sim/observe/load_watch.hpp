#pragma once
// What a server says of its load while it is measured: its /metrics, read every so often.

#include <string>
#include <vector>

#include "sim/observe/http_client.hpp"
#include "sim/observe/published_load.hpp"

namespace headroom {

class LoadWatch {
 public:
  LoadWatch(HttpClient& client, TimeNs every_ns) : client_(client), every_ns_(every_ns) {}

  // Asks, if it is time for that and the answer before has come.
  void poll();
  // When poll() has something to do next; kNever: it never has.
  [[nodiscard]] TimeNs next_ns() const;
  // Asks now, and waits for the answer.
  void ask_now();

  [[nodiscard]] const std::vector<LoadSample>& samples() const { return samples_; }
  // Why there are no samples, or no more of them; empty: nothing went wrong.
  [[nodiscard]] const std::string& problem() const { return problem_; }
  [[nodiscard]] const std::string& engine() const { return engine_; }  // by the names; or empty

 private:
  void ask();
  void read(const HttpEnd& end, TimeNs now_ns);

  HttpClient& client_;
  TimeNs every_ns_;
  TimeNs next_ns_ = 0;
  bool is_asking_ = false;
  std::string body_;
  std::vector<LoadSample> samples_;
  std::string problem_;
  std::string engine_;
};

}  // namespace headroom
