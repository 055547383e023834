#pragma once
// What SGLang's releases do differently, most of it in how they count what a prefill batch takes
// (managers/schedule_policy.py, PrefillAdder). As it stands here: 0.5.13 to 0.5.21; the engine sets
// what others do.

namespace headroom {

struct SglangRules {
  // Prompts count in whole pages, and one that reaches max_prefill_tokens does not fit; else
  // (before 0.4.8) in tokens, and it may reach them.
  bool counts_pages = true;
  // A piece of a prompt leaves free what others are expected to generate: since 0.5.2.
  bool pieces_leave_output = true;
  // The test counts what is left of max_new_tokens after a retraction, not all: since 0.5.4.
  bool expects_rest = true;
  // A page more is set aside for each admitted request: since 0.5.10.
  bool adds_page = true;
  // The test asks for that page, too: since 0.5.11.
  bool tests_page = true;
  // A prompt in pieces holds a row of the request table, which its next piece counts again: 0.5.12
  // to 0.5.22.
  bool counts_rows = true;
  // max_new_tokens is cut to what a pool leaves of its pages beside the prompt's: since 0.5.12.
  bool clips_in_pages = true;
  // max_prefill_tokens limits prompts that can be cut, too: before 0.5.13.
  bool limits_pieces = false;
  // Requests that wait keep the estimate from starting anew: since 0.5.12. Else a loop without a
  // batch is enough.
  bool idle_without_queue = true;
  // With overlap, a row whose last token by max_new_tokens is in flight takes part in no further
  // step, and while such rows leave, a lack of room is waited out: since 0.5.22.
  bool skips_last_step = false;
  // Every plan drops those that have finished, not only one of decodes: since 0.5.23.
  bool filters_always = false;
  // A prefill batch that has used up its tokens tests no further request: since 0.5.23.
  bool stops_when_spent = false;

  bool operator==(const SglangRules&) const = default;
};

}  // namespace headroom
