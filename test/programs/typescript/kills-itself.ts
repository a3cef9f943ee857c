process.kill(process.pid, "SIGKILL");
for (;;);
