#include "scheduler/batching/orca.hpp"

#include "sim/kernel/named_value.hpp"

namespace headroom {
namespace {

constexpr NamedValue<OutputReservation> kReservations[] = {
    {"max_tokens", OutputReservation::max_tokens},
    {"max_model_len", OutputReservation::max_model_len},
    {"pow2", OutputReservation::pow2},
    {"oracle", OutputReservation::oracle}};

}  // namespace

OutputReservation OrcaScheduling::reservation() const {
  return value_named<OutputReservation>(kv_reservation, kReservations);
}

void OrcaScheduler::enqueue(RequestId id, const Request&) { waiting_.push_back(id); }

void OrcaScheduler::plan(const PlanContext& context, BatchPlan& plan) {
  context.take_decodes();
  const std::int64_t seats = options_.max_micro_batch_seqs - context.decodes.size();
  while (!waiting_.empty() && running_ < options_.max_num_seqs &&
         static_cast<std::int64_t>(plan.chunks.size()) < seats) {
    const RequestId id = waiting_.front();
    const Request& request = context.requests[id];
    const TokenCount whole = TokenCount{request.prompt_tokens} + request.reserved_output;
    const KvGrowth growth{.id = id,
                          .request = &request,
                          .hold_tokens = request.prompt_tokens,
                          .fit_tokens = whole,
                          .final_tokens = whole};
    if (!context.kv.try_grow(growth)) {
      const KvPoolState& pool = context.kv.pool();
      if (whole <= pool.free_blocks * pool.block_tokens && pool.largest_hole < pool.free_blocks) {
        plan.refused_by_placement = id;
        plan.wanted_tokens = whole;
      }
      break;
    }
    waiting_.pop_front();
    ++running_;
    plan.chunks.push_back(
        {.id = id, .tokens = request.prompt_tokens, .admits = true, .samples = true});
  }
  if (plan.chunks.empty()) plan.steady_steps = kManySteps / 2;
  plan.arrivals_can_join = waiting_.empty() && running_ < options_.max_num_seqs;
}

bool OrcaScheduler::on_leave(RequestId id) {
  if (waiting_.contains(id)) {
    waiting_.remove(id);
  } else {
    --running_;
  }
  return true;
}

void OrcaScheduler::on_engine_lost() { running_ = 0; }

namespace {

std::vector<OwnRow> orca_rows() {
  using O = OrcaScheduling;
  static const std::string kReservationNames = choices_in<OutputReservation>(kReservations);
  return own_rows<O>({
      {.name = "kv_reservation",
       .field = &O::kv_reservation,
       .choices = kReservationNames,
       .doc = "output length to reserve: as declared, the longest, or the true length as in the "
              "literature's oracles"},
  });
}

}  // namespace

const BatchPolicy& orca_policy() {
  static const BatchPolicy kPolicy{
      .name = "orca",
      .doc = "Orca: iteration-level batches, with KV reserved for the longest output",
      .traits = {.sets_aside = true, .has_stages = true, .seats_per_stage = true},
      .allocators = {"contiguous", "paged"},
      .options = orca_rows,
      .reservation = [](const OptionBag& own) { return own.get<OrcaScheduling>().reservation(); },
      .make = [](const SchedulerOptions& options, const KvAllocator&)
          -> std::unique_ptr<BatchScheduler> { return std::make_unique<OrcaScheduler>(options); }};
  return kPolicy;
}

}  // namespace headroom
