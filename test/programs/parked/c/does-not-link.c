#include <math.h>
#include <stdio.h>
int elsewhere(double);
int main(void) {
  printf("%d\n", elsewhere(sin(1)));
  return 0;
}
