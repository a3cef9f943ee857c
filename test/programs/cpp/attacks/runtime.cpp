// Features of C++: its library, dynamic loading, threads. Prints a line for each attempt.
#include <cerrno>
#include <csignal>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

namespace fs = std::filesystem;

static void report(const char *name, long result) {
  std::cout << name << ": " << (result < 0 ? strerrorname_np(errno) : "allowed") << '\n';
}

static void file(const char *name, std::error_code error) {
  std::cout << name << ": " << (error ? strerrorname_np(error.value()) : "allowed") << '\n';
}

int main() {
  std::error_code error;
  fs::create_symlink("/", "root");
  std::cout << "through a link to the root: " << (fs::exists("root/etc/shadow") ? "a shadow file" : "the image") << '\n';
  fs::copy_file("/etc/passwd", "/etc/group", fs::copy_options::overwrite_existing, error);
  file("copy over a file of the image", error);
  fs::resize_file("/usr/bin/env", 0, error);
  file("resize a file of the image", error);
  fs::permissions("/etc", fs::perms::all, error);
  file("permissions of the image", error);
  std::cout << "space of the root: " << fs::space("/").capacity << '\n';
  std::jthread([] { report("root in one thread", syscall(SYS_setresuid, 0, 0, 0)); }).join();
  std::jthread([] { report("namespace in one thread", syscall(SYS_unshare, 0x20000)); }).join();
  std::jthread([] {
    report("filter of one thread", syscall(SYS_seccomp, 0, 0, nullptr));
  }).join();
  // Memory that is written and then executed: the filter allows it, and it also applies to calls from there.
  void *memory = mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
#ifdef __x86_64__
  std::memcpy(memory, "\xb8\x10\x01\x00\x00\xbf\x00\x00\x00\x10\x0f\x05\xc3", 13); // mov eax, 272; mov edi, NEWUSER; syscall; ret
  errno = static_cast<int>(-reinterpret_cast<long (*)()>(memory)());
  report("namespace by generated code", -1);
#else
  std::cout << "namespace by generated code: EPERM\n";
#endif
  std::ofstream("/tmp/x.so") << "not a library";
  std::cout << "library in tmp: " << (dlopen("/tmp/x.so", RTLD_NOW) ? "loaded" : "refused") << '\n';
  report("signal to all processes", kill(-1, 0));
  report("signal to the launcher", kill(0x7ffffff, 0));
}
