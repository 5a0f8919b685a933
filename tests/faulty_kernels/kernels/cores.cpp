// Sum of the rows of a matrix on CORES cores, which are threads here: each core adds its share of the rows.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "golden_tasks.h"

namespace cores {

using In = gt::Tensor<const float, 2>;
using Out = gt::Tensor<float, 1>;
using std::int64_t;

// Runs `work(core)` on every core, all at once: none begins before all are there.
template <class Work>
static void on_each(Work work) {
    std::atomic<int> waiting{CORES};
    std::thread threads[CORES];
    for (int core = 0; core < CORES; ++core)
        threads[core] = std::thread([&work, &waiting, core] {
            for (--waiting; waiting > 0;) std::this_thread::yield();
            work(core);
        });
    for (auto& thread : threads) thread.join();
}

static void sound(In x, Out sums) {
    for (int64_t c = 0; c < sums.shape[0]; ++c) sums(c) = 0.0f;
    std::atomic<int> turn{0};
    on_each([&](int core) {
        while (turn != core) std::this_thread::yield();  // in the cores' order, so that sums round alike in every run
        for (int64_t r = core; r < x.shape[0]; r += CORES)
            for (int64_t c = 0; c < sums.shape[0]; ++c) sums(c) += x(r, c);
        ++turn;
    });
}

// Cores are never equally fast: this one waits for up to 20 us.
static void wait_for_memory() {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    std::this_thread::sleep_for(std::chrono::nanoseconds(now.count() % 20000));
}

static void race(In x, Out sums) {
    for (int64_t c = 0; c < sums.shape[0]; ++c) sums(c) = 0.0f;
    on_each([&](int core) {
        for (int64_t r = core; r < x.shape[0]; r += CORES)
            for (int64_t c0 = 0; c0 < sums.shape[0]; c0 += TILE) {
                float tile[TILE];
                for (int64_t c = 0; c < TILE; ++c) tile[c] = sums(c0 + c);
                wait_for_memory();
                for (int64_t c = 0; c < TILE; ++c) sums(c0 + c) = tile[c] + x(r, c0 + c);  // bug: others add meanwhile
            }
    });
}

static void missing_signal(In x, Out sums) {
    for (int64_t c = 0; c < sums.shape[0]; ++c) sums(c) = 0.0f;
    std::mutex mutex;
    std::condition_variable changed;
    int turn = 0;
    on_each([&](int core) {
        std::unique_lock<std::mutex> lock(mutex);
        changed.wait(lock, [&] { return turn == core; });
        for (int64_t r = core; r < x.shape[0]; r += CORES)
            for (int64_t c = 0; c < sums.shape[0]; ++c) sums(c) += x(r, c);
        if (core != CORES - 2) ++turn;  // bug: the last core is never told that its turn has come
        changed.notify_all();
    });
}

}  // namespace cores
