/* Has more zeros than the address-space limit: the kernel kills it during its exec. */
static volatile char zeros[1l << 36];

int main(void) { return zeros[7]; }
