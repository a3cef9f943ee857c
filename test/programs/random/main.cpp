// A line for each random number, from each source: in the program, its threads, a child, and a grandchild.
#include <cstdint>
#include <functional>
#include <iostream>
#include <random>
#include <thread>
#include <sys/wait.h>
#include <unistd.h>

static void show(const char *who) {
  for (const char *token : {"default", "/dev/urandom", "getentropy", "arc4random"}) {
    std::random_device device(token);
    std::cout << who << " " << token << "\t" << ((uint64_t)device() << 32 | device()) << "\n";
  }
  std::cout << std::flush;
}

static void beget(const char *who, const char *next) {
  pid_t pid = fork();
  if (pid == 0) {
    show(who);
    if (next) beget(next, nullptr);
    _exit(0);
  }
  waitpid(pid, nullptr, 0);
}

int main() {
  show("program");
  beget("child", "grandchild");
  beget("other child", nullptr);
  for (const char *who : {"thread", "other thread"}) std::thread(show, who).join();
  show("program again");
}
