#include <stdio.h>
#include "nothing.h"
int main(void) {
  int unused = "text";
  puts(missing);
  return 0
}
