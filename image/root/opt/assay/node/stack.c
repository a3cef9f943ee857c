/*
 * Lets V8 use 60,000 KB of the main thread's stack, as --stack-size=60000 would. A V8 flag makes Node discard its built-in code
 * cache, which costs a fifth of its start. start.cjs loads this library. Worker threads have stacks and limits of their own.
 *
 * start.cjs loads it again before and after the wait for a step. It then gives the isolate new random numbers (random.c), and lets writes to
 * standard output and standard error block in the process that has waited, as before the first use of process.stdout:
 * fs.writeSync(1, …) fails otherwise if the pipe is full. Another process, which continues it, gets new pipes.
 */
#include <fcntl.h>
#include <stdint.h>
#include <unistd.h>

enum { STACK_BYTES = 60000 * 1024 };

/* v8::Isolate::GetCurrent() and v8::Isolate::SetStackLimit(uintptr_t). */
void *current_isolate(void) __asm__("_ZN2v87Isolate10GetCurrentEv");
void set_stack_limit(void *isolate, uintptr_t limit) __asm__("_ZN2v87Isolate13SetStackLimitEm");

void find_generator(void *env); /* random.c */
void renew_seed(void *env);
void *napi_register_module_v1(void *env, void *exports);

void *napi_register_module_v1(void *env, void *exports)
{
	static int loads;
	static pid_t waiting;
	if (gettid() != getpid())
		return exports;
	switch (loads++) {
	case 0:
		set_stack_limit(current_isolate(), (uintptr_t)__builtin_frame_address(0) - STACK_BYTES);
		break;
	case 1:
		find_generator(env);
		waiting = getpid();
		break;
	default:
		renew_seed(env);
		for (int fd = 1; fd <= 2 && getpid() == waiting; fd++)
			fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
	}
	return exports;
}
