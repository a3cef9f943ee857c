/* More zeros than the address space may have: the kernel kills it in the middle of its exec. */
static volatile char zeros[1l << 36];

int main(void) { return zeros[7]; }
