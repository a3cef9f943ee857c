/* Spoils the name of its loader, so that the kernel cannot start it: its own fault, not the platform's. */
const char loader[3] __attribute__((section(".interp"), used)) = "abc";

int main(void) { return 0; }
