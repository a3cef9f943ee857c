#include <bits/stdc++.h>
int main() {
  std::vector<std::string> words{1, 2};
  std::sort(words);
  return missing;
}
