#include "scheduler/kv/allocators.hpp"

#include <algorithm>

#include "scheduler/kv/contiguous.hpp"
#include "scheduler/kv/radix.hpp"
#include "scheduler/kv/slots.hpp"
#include "sim/kernel/check.hpp"
#include "sim/kernel/named_value.hpp"

namespace headroom {
namespace {

constexpr NamedValue<Placement> kPlacements[] = {{"first_fit", Placement::first_fit},
                                                 {"best_fit", Placement::best_fit},
                                                 {"next_fit", Placement::next_fit},
                                                 {"buddy", Placement::buddy}};

std::vector<OwnRow> contiguous_rows() {
  using C = ContiguousOptions;
  static const std::string kPlacementNames = choices_in<Placement>(kPlacements);
  return own_rows<C>({
      {.name = "kv_placement",
       .field = &C::kv_placement,
       .choices = kPlacementNames,
       .doc = "placement of a reservation in the address space"},
      {.name = "kv_compaction",
       .field = &C::kv_compaction,
       .doc = "move reservations together if a new one fits no hole; copying takes time"},
  });
}

std::vector<OwnRow> slot_rows() {
  using S = SlotOptions;
  return own_rows<S>({
      {.name = "cache_prompt",
       .field = &S::cache_prompt,
       .doc = "a slot keeps its last prompt and answer for the next request"},
      {.name = "slot_prompt_similarity",
       .field = &S::slot_prompt_similarity,
       .unit = "share",
       .bounds = kShare,
       .doc = "share of a prompt that a slot must hold to be chosen for it"},
  });
}

std::unique_ptr<KvAllocator> make_contiguous(const AllocatorInputs& inputs) {
  const auto& own = inputs.own.get<ContiguousOptions>();
  return std::make_unique<ContiguousKv>(
      ContiguousKvOptions{.tokens = inputs.tokens,
                          .placement = value_named<Placement>(own.kv_placement, kPlacements),
                          .compaction = own.kv_compaction});
}

std::unique_ptr<KvAllocator> make_slots(const AllocatorInputs& inputs) {
  const auto& own = inputs.own.get<SlotOptions>();
  const TokenCount parts = TokenCount{inputs.sequences} * inputs.longest;
  return std::make_unique<SlotKv>(
      SlotKvOptions{.slots = inputs.sequences,
                    .slot_tokens = inputs.longest,
                    .shared_cells = inputs.tokens < parts ? inputs.tokens : 0,
                    .cache_prompt = own.cache_prompt,
                    .slot_prompt_similarity = own.slot_prompt_similarity});
}

std::unique_ptr<KvAllocator> make_radix(const AllocatorInputs& inputs) {
  const PagedKvOptions& paged = inputs.paged;
  HEADROOM_CHECK(!paged.reserve_final && !paged.sequence && paged.tier.host_blocks == 0,
                 "a radix tree in a pool that sets aside, has windows or a second tier");
  return std::make_unique<RadixKv>(
      RadixKvOptions{.blocks = paged.blocks,
                     .block_tokens = paged.block_tokens,
                     .evicts_all = inputs.own.get<RadixOptions>().evicts_all,
                     .drops_last_match = paged.drops_last_match});
}

const AllocatorPolicy kAllocators[] = {
    {.name = "paged",
     .doc = "blocks by reference, with a prefix cache",
     .in_blocks = true,
     .make = [](const AllocatorInputs& inputs) -> std::unique_ptr<KvAllocator> {
       if (inputs.radix_tree) return make_radix(inputs);
       return std::make_unique<PagedKv>(inputs.paged);
     }},
    {.name = "contiguous",
     .doc = "one contiguous range of an address space per request",
     .in_one_range = true,
     .finds_prefixes = [](const OptionBag&) { return std::optional<bool>(false); },
     .options = contiguous_rows,
     .make = make_contiguous},
    {.name = "slots",
     .doc = "one slot per sequence, which keeps its last prompt",
     .finds_prefixes =
         [](const OptionBag& own) {
           return std::optional<bool>(own.get<SlotOptions>().cache_prompt);
         },
     .options = slot_rows,
     .make = make_slots},
};

}  // namespace

std::span<const AllocatorPolicy> allocator_policies() { return kAllocators; }

const AllocatorPolicy& allocator_policy(std::string_view name) {
  const auto found = std::ranges::find(kAllocators, name, &AllocatorPolicy::name);
  HEADROOM_CHECK(found != std::end(kAllocators), "an allocator: " + std::string(name));
  return *found;
}

}  // namespace headroom
