#pragma once
// The API server of docs/semantics.md ("The API server"), one piece of work at a time.

#include <cstddef>
#include <vector>

#include "tests/oracle/oracle_types.hpp"

namespace headroom::oracle {

class NaiveApiServer {
 public:
  explicit NaiveApiServer(const ApiServerOptions& options) : options_(options) {}

  [[nodiscard]] bool exists() const { return options_.processes > 0; }

  // When the engine gets a request of `prompt` tokens that is sent at `now`.
  [[nodiscard]] TimeNs send(TokenCount prompt, TimeNs now);
  // `tokens` tokens come out at `instant`: when all are written.
  [[nodiscard]] TickSum put_out(TokenCount tokens, TickSum instant);
  // When a client has what was written at `instant`.
  [[nodiscard]] TimeNs received(TickSum instant) const;
  // When a client knows that its answer is complete, or that there is none.
  [[nodiscard]] TimeNs answer(bool complete, TickSum instant);

 private:
  // Does `ticks` of one process's work behind all that came before; what remains of it to the
  // process that does it is `own`.
  TickSum work(Ticks ticks, TickSum instant);
  [[nodiscard]] Ticks own(Ticks ticks) const { return ticks - ticks / options_.processes; }

  ApiServerOptions options_;
  TickSum free_ = 0;
};

}  // namespace headroom::oracle
