/*
 * A JVM agent that lets the JVM wait after its start, before it loads the program's class. The sandbox starts the JVM before a
 * program exists. The agent reports that the JVM waits, and returns when /box has the source (launcher/PROTOCOL.md).
 *
 * Options: the number of times that a compiler first compiles the class of warm/Main.java, so that its own code is compiled; ten
 * times as many if the JVM is frozen (image/freeze/), which is done once. The result is written to /tmp and removed. Uncaught errors
 * end the JVM: then the step starts another one.
 */
#include <jni.h>
#include <jvmti.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
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
	jclass compiler = (*env)->FindClass(env, "com/sun/tools/javac/Main"), text = (*env)->FindClass(env, "java/lang/String");
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
	(void)thread;
	if (warm_ups > 0)
		warm_up(env);
	wait_for_step();
}

JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM *vm, char *options, void *reserved)
{
	jvmtiEnv *jvmti;
	jvmtiEventCallbacks callbacks = {.VMInit = started};
	(void)reserved;
	warm_ups = (options ? atoi(options) : 0) * (access("/tmp/freezing", F_OK) == 0 ? 10 : 1);
	if ((*vm)->GetEnv(vm, (void **)&jvmti, JVMTI_VERSION_1_2) != JNI_OK ||
	    (*jvmti)->SetEventCallbacks(jvmti, &callbacks, sizeof callbacks) != JVMTI_ERROR_NONE ||
	    (*jvmti)->SetEventNotificationMode(jvmti, JVMTI_ENABLE, JVMTI_EVENT_VM_INIT, NULL) != JVMTI_ERROR_NONE)
		return JNI_ERR;
	return JNI_OK;
}
