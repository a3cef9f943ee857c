/* Sets an invalid loader name, so that the kernel could not start it. */
const char loader[3] __attribute__((section(".interp"), used)) = "abc";

int main(void) { return 0; }
