// Reads a path and a port. Prints whether it can read the file, connect to the port and write to the image, and what it sees.
#include <arpa/inet.h>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <sys/socket.h>
#include <unistd.h>

int main() {
  std::string path;
  int port = 0;
  std::cin >> path >> port;
  std::cout << "file: " << (std::ifstream(path) ? "read" : "cannot") << '\n';
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<unsigned short>(port));
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  std::cout << "tcp: " << (connect(fd, reinterpret_cast<sockaddr *>(&to), sizeof to) == 0 ? "connected" : "cannot") << '\n';
  std::cout << "image: " << (std::ofstream("/usr/attack") ? "written" : "cannot") << '\n';
  int processes = 0;
  for (auto &entry : std::filesystem::directory_iterator("/proc"))
    processes += std::isdigit(static_cast<unsigned char>(entry.path().filename().string()[0])) != 0;
  std::cout << "processes: " << processes << "\nenvironment:";
  for (char **e = environ; *e; e++) std::cout << ' ' << std::string(*e).substr(0, std::string(*e).find('='));
  std::cout << '\n';
}
