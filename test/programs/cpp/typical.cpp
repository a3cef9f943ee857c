// Typical use of the C++ library, which the system call filter must allow.
#include <atomic>
#include <barrier>
#include <cassert>
#include <chrono>
#include <condition_variable>
#include <execution>
#include <filesystem>
#include <fstream>
#include <future>
#include <iostream>
#include <latch>
#include <memory_resource>
#include <mutex>
#include <numeric>
#include <random>
#include <semaphore>
#include <shared_mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

namespace fs = std::filesystem;
using namespace std::chrono_literals;

static void files()
{
	fs::path place = fs::temp_directory_path() / "typical";
	fs::create_directories(place / "x/y/z");
	std::ofstream(place / "a") << std::string(100000, 'x');
	fs::copy(place / "a", place / "b");
	fs::copy(place / "x", place / "copy", fs::copy_options::recursive);
	fs::create_symlink("a", place / "c");
	fs::create_hard_link(place / "a", place / "d");
	fs::rename(place / "d", place / "e");
	fs::resize_file(place / "a", 4096);
	fs::permissions(place / "a", fs::perms::owner_all);
	fs::last_write_time(place / "a", fs::file_time_type::clock::now());
	assert(fs::file_size(place / "a") == 4096 && fs::exists(place / "c") && fs::read_symlink(place / "c") == "a");
	assert(fs::space(place).capacity > 0 && fs::equivalent(place / "a", place / "c") && !fs::canonical(place / "c").empty());
	std::size_t count = 0;
	for (auto const &entry : fs::recursive_directory_iterator(place))
		count += !entry.path().empty();
	assert(count == 10);
	std::ifstream in(place / "b");
	std::string text(std::istreambuf_iterator<char>(in), {});
	assert(text.size() == 100000);
	fs::current_path(place);
	fs::current_path("/box");
	assert(fs::remove_all(place) > 0);
}

static void threads()
{
	auto one = std::async(std::launch::async, [] { return 1; });
	std::promise<int> promise;
	std::jthread teller([&](std::stop_token) { promise.set_value(2); });
	assert(one.get() + promise.get_future().get() == 3);
	std::mutex mutex;
	std::condition_variable condition;
	std::shared_mutex shared;
	std::counting_semaphore<4> semaphore(0);
	std::barrier barrier(3);
	std::latch latch(3);
	std::atomic<int> sum = 0;
	{
		std::vector<std::jthread> all;
		for (int i = 0; i < 3; i++)
			all.emplace_back([&] {
				barrier.arrive_and_wait();
				std::scoped_lock lock(mutex, shared);
				sum++;
				sum.notify_all();
				condition.notify_one();
				semaphore.release();
				latch.count_down();
			});
		latch.wait();
	}
	semaphore.acquire();
	assert(!semaphore.try_acquire_for(0ms) || sum == 3);
	std::unique_lock lock(mutex);
	condition.wait_for(lock, 1ms);
	std::this_thread::sleep_for(1ms);
	std::this_thread::yield();
	assert(std::thread::hardware_concurrency() > 0);
}

int main()
{
	files();
	threads();
	try {
		throw std::runtime_error(std::to_string(std::random_device()()));
	} catch (std::exception const &) {
	}
	std::pmr::unsynchronized_pool_resource pool;
	std::pmr::vector<int> numbers(1000000, 1, &pool);
	assert(std::reduce(numbers.begin(), numbers.end()) == 1000000);
	for (std::string line; std::getline(std::cin, line);)
		;
	std::cout << "ok" << std::endl;
}
