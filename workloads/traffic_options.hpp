#pragma once
// Synthetic traffic: when sessions start, what their requests look like, when clients give up.
// A session is one user's requests in order; most traffic has sessions of one request.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/kernel/time.hpp"
#include "workloads/arrivals.hpp"
#include "workloads/duration_options.hpp"
#include "workloads/length_options.hpp"
#include "workloads/max_tokens.hpp"

namespace headroom {

// Texts that many prompts begin with: item k of 1 .. count is chosen with weight k^-exponent, and
// has one length for all.
struct SharedTextOptions {
  std::int64_t count = 0;  // 0: none; at most 10,000,000
  double share = 1.0;      // of the sessions that begin with one, 0 .. 1
  double exponent = 0.0;   // popularity, 0 (all equal) .. 20
  LengthOptions tokens = {};
};

struct SessionOptions {
  LengthOptions turns = {};  // requests of a session; fixed 1: no sessions
  // A turn's prompt is everything said before and its own new text; false: only its own text. The
  // session's system prompt and document come before either.
  bool keeps_history = true;
  // Between an answer and the next turn: a tool runs in this share of them, else the user thinks.
  DurationOptions think_time = {};
  double tool_share = 0.0;
  DurationOptions tool_time = {};
};

// How long a client waits after it sent its request; absent: for ever.
struct PatienceOptions {
  std::optional<DurationOptions> first_token = {};  // for the first token
  std::optional<DurationOptions> answer = {};       // for the last one
};

struct TrafficClass {
  std::string name;  // part of the names of streams; "" when there is one only, else all different
  std::int32_t class_id = 0;
  std::int32_t priority = 0;  // smaller is served first
  double share = 1.0;  // of the sessions, relative to the other classes; above 0, at most 1e9
  LengthOptions prompt = {};  // new text of each turn
  LengthOptions output = {};
  double length_correlation = 0.0;  // of the Gaussian copula, -1 .. 1; with joint_lengths 0
  bool joint_lengths = false;       // both from the same row of an empirical table
  SharedTextOptions system_prompts = {};
  SharedTextOptions documents = {};  // behind the system prompt
  SessionOptions sessions = {};
  PatienceOptions patience = {};
  std::optional<MaxTokensOptions> max_tokens = {};  // absent: that of all classes
};

// A number of users, each with one session at a time, again and again.
struct ClosedLoopOptions {
  std::int64_t users = 1;           // 1 .. 10,000,000
  DurationOptions think_time = {};  // between the end of a session and the user's next one
  double start_within_s = 0.0;      // 0 .. 1e9: users start evenly spread over it; 0: all at 0
};

struct TrafficOptions {
  ArrivalOptions arrivals = {};                       // of session starts
  std::optional<ClosedLoopOptions> closed_loop = {};  // instead of `arrivals`
  std::optional<std::int64_t> num_requests = {};      // of all sessions; >= 0
  std::optional<std::int64_t> num_sessions = {};      // that start; >= 0
  TimeNs end_ns = kNever;  // >= 0; no session starts, and no further turn is sent, from here on
  std::vector<TrafficClass> classes = {};  // one or more; ids 0 .. 254
  MaxTokensOptions max_tokens = {};
  std::string stream_prefix = {};  // of the names of all streams: "chat/"
};

}  // namespace headroom
