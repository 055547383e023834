#pragma once
// Beam search outside of the engine, as vLLM V1 serves it (LLM.beam_search, use_beam_search of the
// OpenAI server): every prompt of another workload is searched with `beam_width` beams.
//
// Rounds. A prompt of P tokens with N output tokens takes N rounds. In round t (from 1) each beam
// is a request of its own: P + t - 1 prompt tokens, one output token, max_tokens 1. Round 1 has one
// request, every later one beam_width; all of a round arrive, in a row, at the instant at which the
// last one of the round before left. Nothing is copied: what beams have in common an engine finds
// in its prefix cache, in full blocks.
//
// Which beam a new one continues is decided by the scores of the model, which are unknown here.
// Assumption: each beam of a round continues one of the round before, drawn uniformly and
// independently, and the answer is any beam of the last round. Beam 0 is the one that becomes the
// answer: in every round it continues beam 0, and the others draw. That is the same law: whichever
// beams the answer descends from, the draws of all others are uniform and independent. What follows
// from it (Wright and Fisher's model of k lineages in a population of k): in each round, looking
// back, two beams meet in one with chance 1 / k, so k rounds back on average, and all of them some
// 2 k (1 - 1/k) = 2 (k - 1) rounds back (Kingman, "The coalescent", 1982; for populations this
// small a little more than it is: 2.0, 5.8 and 9.7 rounds for k = 2, 4, 6). Real scores are less
// even: then beams meet earlier, and more is shared.
//
// Identities. A beam begins with the prompt's pieces, and one for the rest of the prompt if they do
// not make it up. Generated tokens follow in further pieces: the first child of a beam goes on with
// its parent's last piece, any other one begins a piece of its own. So all tokens of beam 0 are one
// piece; it has the prompt's output_segment, and later turns of a session go on behind it.
//
// If a request of a round does not finish, the search ends with that outcome when the others of the
// round have left. The prompt's deadlines are those of the search: of the first token in round 1,
// of the answer in all; a round that ends at the latter or later, and is not the last one, ends the
// search as cancelled. The inner workload is told once, when the last round has left.
//
// At one time, prompts of the inner workload come first, then rounds in the order in which those
// before them left. Draws: beam j of round t + 1 of prompt n has draw t * beam_width + j of the
// n-th stream of the family "beams"; it depends on nothing else.
//
// Limits. EOS ends no beam before round N. vLLM sets ended beams aside and searches on until
// max_tokens, so its N is what clients declare; here it is the prompt's output, cut to that. The
// client takes no time between rounds, and prompts are searched independently (vLLM's offline batch
// keeps the rounds of all its prompts in step). A beam that outgrows what the engine takes is
// rejected, and with it the search. Latencies are those of single rounds.
//
// Memory: the pieces of two rounds of each search in progress. A beam has the prompt's pieces, one,
// and some that grow with the rounds since it left beam 0's line: beam_width on average, whatever
// N. Time: O(pieces of the beam) a request.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <unordered_map>
#include <vector>

#include "sim/serving/workload_source.hpp"
#include "workloads/counter_stream.hpp"

namespace headroom {

struct BeamSearchTotals {
  std::int64_t searches = 0;  // prompts taken
  std::int64_t rounds = 0;    // begun
  std::int64_t failed = 0;    // searches that ended before their answer
};

class BeamSearch final : public WorkloadSource {
 public:
  // `beam_width` >= 1; 1: still a request a token.
  BeamSearch(std::unique_ptr<WorkloadSource> inner, std::int64_t beam_width, std::uint64_t seed);

  [[nodiscard]] TimeNs next_time() override;
  [[nodiscard]] Arrival take() override;
  void on_done(std::uint64_t index, Outcome outcome, TimeNs now_ns) override;

  [[nodiscard]] const BeamSearchTotals& totals() const { return totals_; }

 private:
  using Slot = std::size_t;
  using Beam = std::vector<PrefixSegment>;

  struct Search {
    std::uint64_t number = 0;  // of the prompt in the inner workload
    Arrival request;           // of a beam in this round, but for its prefix
    std::int32_t rounds = 0;
    std::int32_t round = 0;       // this one, from 1
    std::uint64_t in_system = 0;  // of this round, those to come included
    Outcome outcome = Outcome::finished;
    std::uint64_t answer_id = 0;
    std::uint64_t ids = 0;    // made for this prompt
    std::vector<Beam> beams;  // of this round; requests in the system refer to them
    std::vector<Beam> next;   // being made
  };

  // A round whose requests are not all taken.
  struct Due {
    TimeNs time_ns = 0;
    Slot slot = 0;
    std::size_t taken = 0;
  };

  [[nodiscard]] Arrival take_prompt();
  [[nodiscard]] Arrival take_beam();
  [[nodiscard]] Arrival request_of(Slot slot, std::size_t beam);
  void begin_round(Slot slot, TimeNs now_ns);
  void branch(Search& search);
  [[nodiscard]] std::size_t parent_of(const Search& search, std::size_t beam) const;
  void end(Slot slot, TimeNs now_ns);
  [[nodiscard]] Slot new_slot();

  std::unique_ptr<WorkloadSource> inner_;
  std::size_t beam_width_;
  CounterStream draws_;
  std::deque<Search> searches_;  // by slot; addresses stay
  std::vector<Slot> free_;
  std::deque<Due> due_;                                // by time
  std::unordered_map<std::uint64_t, Slot> in_flight_;  // by index in the run; never iterated
  std::vector<bool> has_child_;  // of the beams of a round, while the next is made
  std::uint64_t taken_ = 0;
  BeamSearchTotals totals_;
};

}  // namespace headroom
