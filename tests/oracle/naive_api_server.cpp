#include "tests/oracle/naive_api_server.hpp"

#include <algorithm>

namespace headroom::oracle {

TickSum NaiveApiServer::work(Ticks ticks, TickSum instant) {
  free_ = std::max(free_, instant) + ticks / options_.processes;
  return free_;
}

TimeNs NaiveApiServer::send(TokenCount prompt, TimeNs now) {
  TickSum done = work(options_.request_ticks, ticks_from_ns(now));
  TickSum left = own(options_.request_ticks);
  for (TokenCount token = 0; token < prompt; ++token) {
    done = work(options_.prompt_token_ticks, ticks_from_ns(now));
    left += own(options_.prompt_token_ticks);
  }
  return floor_ns(done + left);
}

TickSum NaiveApiServer::put_out(TokenCount tokens, TickSum instant) {
  TickSum done = instant;
  for (TokenCount token = 0; token < tokens; ++token) {
    done = work(options_.output_token_ticks, instant);
  }
  return done;
}

TimeNs NaiveApiServer::received(TickSum instant) const {
  return floor_ns(instant + own(options_.output_token_ticks)) + options_.network_ns;
}

TimeNs NaiveApiServer::answer(bool complete, TickSum instant) {
  const TickSum done = work(complete ? options_.answer_ticks : 0, instant);
  const Ticks left = complete ? own(options_.answer_ticks) : 0;
  return floor_ns(done + std::max(left, own(options_.output_token_ticks))) + options_.network_ns;
}

}  // namespace headroom::oracle
