/*
 * A JVM agent that lets the JVM wait after its start, before it loads the program's class. The sandbox starts the JVM before a
 * program exists. The agent reports that the JVM waits, and returns when /box has the source (launcher/PROTOCOL.md).
 *
 * Options: the number of times that a compiler first compiles the class of warm/Main.java, so that its own code is compiled; ten
 * times as many if the JVM is frozen (image/freeze/), which is done once. The result is written to /tmp and removed. Uncaught errors
 * end the JVM: then the step starts another one.
 *
 * The JVM keeps the times of its start, and its process may be another one after the wait. The agent corrects what Java programs
 * can see of that. The variables have no names outside of the JVM: each is found by its value, and a change of it must change what
 * Java sees. A JVM in which one is not found, or not exactly one, does not wait.
 */
#define _GNU_SOURCE
#include <jni.h>
#include <jvmti.h>
#include <dirent.h>
#include <fcntl.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { GO_FD = 3, READY_FD = 4 };

static int warm_ups;

static void check(JNIEnv *env)
{
	if ((*env)->ExceptionCheck(env)) {
		(*env)->ExceptionDescribe(env);
		_exit(1);
	}
}

static const char classes[] = "/tmp/warm";

static void remove_classes(void)
{
	DIR *list = opendir(classes);
	for (struct dirent *entry; list && (entry = readdir(list));)
		unlinkat(dirfd(list), entry->d_name, 0);
	if (!list || closedir(list) < 0 || rmdir(classes) < 0)
		_exit(1);
}

static void warm_up(JNIEnv *env)
{
	static const char *const arguments[] = {"-proc:none", "-XDstringConcat=inline", "-d", classes, "/opt/assay/park/warm/Main.java"};
	enum { COUNT = sizeof arguments / sizeof *arguments };
	jclass compiler = (*env)->FindClass(env, "assay/Compiler"), text = (*env)->FindClass(env, "java/lang/String");
	check(env);
	jmethodID compile = (*env)->GetStaticMethodID(env, compiler, "compile", "([Ljava/lang/String;)I");
	jobjectArray array = (*env)->NewObjectArray(env, COUNT, text, NULL);
	check(env);
	for (int i = 0; i < COUNT; i++)
		(*env)->SetObjectArrayElement(env, array, i, (*env)->NewStringUTF(env, arguments[i]));
	if (mkdir(classes, 0700) < 0)
		_exit(1);
	for (int i = 0; i < warm_ups; i++) {
		jint status = (*env)->CallStaticIntMethod(env, compiler, compile, array);
		check(env);
		if (status != 0)
			_exit(1);
	}
	remove_classes();
}

/* --- times ------------------------------------------------------------------------------------------ */

enum { NS_PER_MS = 1000000, TRIES = 5 };
static const jlong SHIFT = 1ll << 40;

struct range {
	const char *library; /* the variable is in its writable data */
	jlong *from, *to;
};

/* The methods and fields from which Java programs get their answers. */
static struct {
	JNIEnv *env;
	jclass process;
	jobject perf, management, seeds;
	jmethodID counter, startup, pid, started, make, set;
	jfieldID current, probe;
} java;

static jlong *counter_start;  /* ns on CLOCK_MONOTONIC: System.nanoTime() when RuntimeMXBean.getUptime() was 0 */
static jlong *initialized_ms; /* since 1970: RuntimeMXBean.getStartTime() */
static jlong *boot_ms;        /* since 1970: the start of a process, as the kernel has it, counts from here. NULL if unknown */

static jlong now_ns(clockid_t clock)
{
	struct timespec t;
	if (clock_gettime(clock, &t) < 0)
		_exit(1);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

/* Returns the real time of the start of the machine. */
static jlong boot_ns(void) { return now_ns(CLOCK_REALTIME) - now_ns(CLOCK_BOOTTIME); }

static jlong read_counter(void) { return (*java.env)->CallLongMethod(java.env, java.perf, java.counter); }
static jlong read_startup(void) { return (*java.env)->CallLongMethod(java.env, java.management, java.startup); }
static jlong read_started(void)
{
	return (*java.env)->CallStaticLongMethod(java.env, java.process, java.started,
						 (*java.env)->CallStaticLongMethod(java.env, java.process, java.pid));
}

/* Makes an object without its constructor, for calls of its method. */
static jobject make(const char *name, const char *method, jmethodID *id)
{
	jclass class = (*java.env)->FindClass(java.env, name);
	check(java.env);
	*id = (*java.env)->GetMethodID(java.env, class, method, "()J");
	check(java.env);
	return (*java.env)->AllocObject(java.env, class);
}

static int find_data(struct dl_phdr_info *info, size_t size, void *wanted)
{
	struct range *range = wanted;
	const char *name = strrchr(info->dlpi_name, '/');
	(void)size;
	if (!name || strcmp(name + 1, range->library))
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *h = &info->dlpi_phdr[i];
		if (h->p_type != PT_LOAD || !(h->p_flags & PF_W))
			continue;
		range->from = (jlong *)((info->dlpi_addr + h->p_vaddr + sizeof(jlong) - 1) & -sizeof(jlong));
		range->to = (jlong *)((info->dlpi_addr + h->p_vaddr + h->p_memsz) & -sizeof(jlong));
	}
	return 1;
}

static struct range data_of(const char *library)
{
	struct range range = {.library = library};
	dl_iterate_phdr(find_data, &range);
	return range;
}

/* Finds the mapping from which this thread gets its memory, because it has started the JVM. */
static struct range memory_of_thread(void)
{
	struct range range = {0};
	void *probe = malloc(1);
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512], modes[8];
	uintptr_t from, to;
	while (maps && fgets(line, sizeof line, maps))
		if (sscanf(line, "%lx-%lx %7s", &from, &to, modes) == 3 && (uintptr_t)probe >= from && (uintptr_t)probe < to)
			range = (struct range){.from = (jlong *)from, .to = (jlong *)to};
	if (maps)
		fclose(maps);
	free(probe);
	return range;
}

/*
 * Finds the variable with a value between LOW and HIGH on which READ depends: a shift of it by SHIFT shifts what READ returns by as
 * much, in the direction SIGN, and up to SLACK that passes meanwhile.
 */
static jlong *find(struct range range, jlong low, jlong high, jlong (*read)(void), int sign, jlong slack)
{
	jlong *found = NULL;
	for (volatile jlong *at = range.from; at < range.to; at++) {
		if (*at < low || *at > high)
			continue;
		jlong value = *at, before = read();
		*at = value + SHIFT;
		jlong moved = read() - before;
		*at = value;
		if (moved < sign * SHIFT || moved > sign * SHIFT + slack)
			continue;
		if (found)
			return NULL;
		found = (jlong *)at;
	}
	return found;
}

static void find_counter(void)
{
	/* Each try bounds the value from both sides. */
	jlong low = 0, high = INT64_MAX;
	for (int i = 0; i < TRIES; i++) {
		jlong before = now_ns(CLOCK_MONOTONIC), counter = read_counter(), after = now_ns(CLOCK_MONOTONIC);
		low = before - counter > low ? before - counter : low;
		high = after - counter < high ? after - counter : high;
	}
	counter_start = find(data_of("libjvm.so"), low, high, read_counter, -1, SHIFT / 2);
}

static void find_times(JNIEnv *env)
{
	java.env = env;
	java.perf = make("jdk/internal/perf/Perf", "highResCounter", &java.counter);
	(*env)->FindClass(env, "sun/management/ManagementFactoryHelper"); /* loads the library of the next class */
	check(env);
	java.management = make("sun/management/VMManagementImpl", "getStartupTime", &java.startup);
	java.process = (*env)->FindClass(env, "java/lang/ProcessHandleImpl");
	check(env);
	java.pid = (*env)->GetStaticMethodID(env, java.process, "getCurrentPid0", "()J");
	check(env);
	java.started = (*env)->GetStaticMethodID(env, java.process, "isAlive0", "(J)J");
	check(env);
	java.make = (*env)->GetMethodID(env, java.process, "<init>", "(JJ)V");
	check(env);
	java.current = (*env)->GetStaticFieldID(env, java.process, "current", "Ljava/lang/ProcessHandleImpl;");
	check(env);
	find_counter();
	jlong startup = read_startup();
	initialized_ms = find(memory_of_thread(), startup, startup, read_startup, 1, 0);
	/* Java reads this from /proc/stat, in whole seconds. A box has no such file, where Java is frozen there is one. */
	int has_boot = access("/proc/stat", R_OK) == 0;
	jlong boot = boot_ns() / NS_PER_MS;
	boot_ms = has_boot ? find(data_of("libjava.so"), boot - 2000, boot + 2000, read_started, 1, 0) : NULL;
	check(env);
	if (!counter_start || !initialized_ms || (has_boot && !boot_ms)) {
		fprintf(stderr, "the JVM keeps the times of its start in an unknown way\n");
		_exit(1);
	}
}

/* Corrects the times, so that the JVM is as old as before the wait, and its process, so that it is this one. */
static void move_times(jlong monotonic_ns, jlong real_ns, jlong boot)
{
	*counter_start += now_ns(CLOCK_MONOTONIC) - monotonic_ns;
	*initialized_ms += (now_ns(CLOCK_REALTIME) - real_ns) / NS_PER_MS;
	if (boot_ms)
		*boot_ms += (boot_ns() - boot) / NS_PER_MS;
	jlong pid = (*java.env)->CallStaticLongMethod(java.env, java.process, java.pid);
	jobject current = (*java.env)->NewObject(java.env, java.process, java.make, pid, read_started());
	check(java.env);
	(*java.env)->SetStaticObjectField(java.env, java.process, java.current, current);
}

/* --- random numbers --------------------------------------------------------------------------------- */

/* ThreadLocalRandom takes the seed of each thread from one sequence, which begins when the JVM first uses it for a table. */
static void find_seeds(JNIEnv *env)
{
	jclass random = (*env)->FindClass(env, "java/util/concurrent/ThreadLocalRandom");
	check(env);
	jfieldID seeder = (*env)->GetStaticFieldID(env, random, "seeder", "Ljava/util/concurrent/atomic/AtomicLong;");
	check(env);
	java.seeds = (*env)->GetStaticObjectField(env, random, seeder);
	jclass number = (*env)->GetObjectClass(env, java.seeds);
	java.set = (*env)->GetMethodID(env, number, "set", "(J)V");
	check(env);
	jclass thread = (*env)->FindClass(env, "java/lang/Thread");
	check(env);
	java.probe = (*env)->GetFieldID(env, thread, "threadLocalRandomProbe", "I");
	check(env);
}

/* Gives new seeds after the wait. Other classes take their seeds when a program first uses them. */
static void renew_seeds(jthread main)
{
	jlong seed;
	if (getentropy(&seed, sizeof seed) < 0)
		_exit(1);
	(*java.env)->CallVoidMethod(java.env, java.seeds, java.set, seed);
	(*java.env)->SetIntField(java.env, main, java.probe, 0); /* no seed yet */
	check(java.env);
}

static void wait_for_step(void)
{
	uint64_t value = 1;
	if (write(READY_FD, &value, sizeof value) != sizeof value || read(GO_FD, &value, sizeof value) != sizeof value)
		_exit(1);
	close(GO_FD);
	close(READY_FD);
}

static void JNICALL started(jvmtiEnv *jvmti, JNIEnv *env, jthread thread)
{
	(void)jvmti;
	if (warm_ups > 0) {
		/* A compiler runs no code of the submission. */
		warm_up(env);
		wait_for_step();
		return;
	}
	find_times(env);
	find_seeds(env);
	jlong monotonic_ns = now_ns(CLOCK_MONOTONIC), real_ns = now_ns(CLOCK_REALTIME), boot = boot_ns();
	wait_for_step();
	move_times(monotonic_ns, real_ns, boot);
	renew_seeds(thread);
}

JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM *vm, char *options, void *reserved)
{
	jvmtiEnv *jvmti;
	jvmtiEventCallbacks callbacks = {.VMInit = started};
	(void)reserved;
	/* A program that starts a JVM with its own options passes the agent on, but has no descriptors to wait with. */
	if (fcntl(GO_FD, F_GETFD) < 0 || fcntl(READY_FD, F_GETFD) < 0)
		return JNI_OK;
	warm_ups = (options ? atoi(options) : 0) * (access("/tmp/freezing", F_OK) == 0 ? 10 : 1);
	if ((*vm)->GetEnv(vm, (void **)&jvmti, JVMTI_VERSION_1_2) != JNI_OK ||
	    (*jvmti)->SetEventCallbacks(jvmti, &callbacks, sizeof callbacks) != JVMTI_ERROR_NONE ||
	    (*jvmti)->SetEventNotificationMode(jvmti, JVMTI_ENABLE, JVMTI_EVENT_VM_INIT, NULL) != JVMTI_ERROR_NONE)
		return JNI_ERR;
	return JNI_OK;
}
