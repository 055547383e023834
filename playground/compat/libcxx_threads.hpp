#pragma once
// std::stop_token and what belongs to it, and std::jthread, as far as the simulator uses them.
// There is one thread.

#include <functional>
#include <list>
#include <memory>
#include <thread>
#include <utility>

namespace std {

namespace headroom_detail {

struct StopState {
  bool requested = false;
  list<function<void()>> callbacks = {};
};

}  // namespace headroom_detail

class stop_token {
 public:
  stop_token() = default;
  explicit stop_token(shared_ptr<headroom_detail::StopState> state) : state_(std::move(state)) {}
  [[nodiscard]] bool stop_requested() const { return state_ && state_->requested; }
  [[nodiscard]] const shared_ptr<headroom_detail::StopState>& state() const { return state_; }

 private:
  shared_ptr<headroom_detail::StopState> state_;
};

class stop_source {
 public:
  [[nodiscard]] stop_token get_token() const { return stop_token(state_); }
  bool request_stop() {
    if (exchange(state_->requested, true)) return false;
    for (const function<void()>& callback : state_->callbacks) callback();
    return true;
  }

 private:
  shared_ptr<headroom_detail::StopState> state_ = make_shared<headroom_detail::StopState>();
};

template <typename Callback>
class stop_callback {
 public:
  template <typename Function>
  stop_callback(const stop_token& token, Function&& callback) : state_(token.state()) {
    if (!state_) return;
    own_ = state_->callbacks.insert(state_->callbacks.end(), forward<Function>(callback));
    if (state_->requested) (*own_)();
  }
  ~stop_callback() {
    if (state_) state_->callbacks.erase(own_);
  }
  stop_callback(const stop_callback&) = delete;
  stop_callback& operator=(const stop_callback&) = delete;

 private:
  shared_ptr<headroom_detail::StopState> state_;
  list<function<void()>>::iterator own_ = {};
};

class jthread : public thread {
 public:
  using thread::thread;
  ~jthread() {
    if (joinable()) join();
  }
};

}  // namespace std
