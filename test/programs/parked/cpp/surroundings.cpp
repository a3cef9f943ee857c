#include <bits/stdc++.h>

struct Named {
  explicit Named(const char* name) : name(name) { std::puts(name); }
  ~Named() { std::printf("end of %s\n", name); }
  const char* name;
};

Named global("global");

// Replaces the library's operator.
static int allocations = 0;
void* operator new(std::size_t size) {
  ++allocations;
  return std::malloc(size);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

int main(int argc, char** argv) {
  static Named local("local");
  thread_local Named own("own");
  std::cout << argc << ' ' << argv[0] << ' ' << __FILE__ << ' ' << own.name << std::endl;
  for (std::string line; std::getline(std::cin, line);) std::cout << line << '\n';
  std::map<std::string, int> counts{{"a", 1}, {"b", 2}};
  try {
    counts.at("c");
  } catch (const std::out_of_range& error) {
    std::cout << error.what() << '\n';
  }
  std::thread([] { std::cout << "thread\n"; }).join();
  std::cout << (allocations > 0) << ' ' << std::accumulate(counts.begin(), counts.end(), 0, [](int sum, auto& e) { return sum + e.second; });
  std::cout << std::endl;
  throw std::runtime_error("uncaught");
}
