/*
 * A JVM agent that starts the class which Compiler.java has found, and not `Main`, which the command of the language names. A fixed
 * command lets the JVM start before there is a program (park/java.c, image/freeze/).
 *
 * The command `java` asks sun.launcher.LauncherHelper for the class, by a call through the table of JNI functions. The agent replaces
 * the name in this one call. Stack traces, class loaders and threads are those of a start by the name.
 */
#include <jni.h>
#include <jvmti.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char usual[] = "Main", command_property[] = "sun.java.command";

static jvmtiEnv *jvmti;
static jniNativeInterface *original;
static jmethodID load_main;
static jstring main_class;

static void check(JNIEnv *env)
{
	if ((*env)->ExceptionCheck(env)) {
		(*env)->ExceptionDescribe(env);
		_exit(1);
	}
}

/* Takes the place of CallStaticObjectMethod() until the call for the class. */
static jobject JNICALL call(JNIEnv *env, jclass class, jmethodID method, ...)
{
	va_list arguments;
	jobject result;
	va_start(arguments, method);
	if (method == load_main) {
		int use_stderr = va_arg(arguments, int), mode = va_arg(arguments, int);
		(*jvmti)->SetJNIFunctionTable(jvmti, original);
		result = (*env)->CallStaticObjectMethod(env, class, method, use_stderr, mode, main_class);
	} else {
		result = original->CallStaticObjectMethodV(env, class, method, arguments);
	}
	va_end(arguments);
	return result;
}

/*
 * Whether the JVM is to start `Main`; a program can start another class with the options of its own JVM. If so, gives the property the
 * value that it has after a start by the name: the class and the arguments.
 */
static bool rename_command(JNIEnv *env, const char *name)
{
	jclass system = (*env)->FindClass(env, "java/lang/System");
	check(env);
	jmethodID get = (*env)->GetStaticMethodID(env, system, "getProperty", "(Ljava/lang/String;)Ljava/lang/String;");
	check(env);
	jmethodID set = (*env)->GetStaticMethodID(env, system, "setProperty", "(Ljava/lang/String;Ljava/lang/String;)Ljava/lang/String;");
	check(env);
	jstring property = (*env)->NewStringUTF(env, command_property);
	check(env);
	jstring command = (*env)->CallStaticObjectMethod(env, system, get, property);
	check(env);
	const char *text = command ? (*env)->GetStringUTFChars(env, command, NULL) : "";
	size_t size = strlen(usual);
	char *changed;
	if (!text || strncmp(text, usual, size) || (text[size] && text[size] != ' '))
		return false;
	if (asprintf(&changed, "%s%s", name, text + size) < 0)
		_exit(1);
	(*env)->ReleaseStringUTFChars(env, command, text);
	jstring value = (*env)->NewStringUTF(env, changed);
	check(env);
	(*env)->CallStaticObjectMethod(env, system, set, property, value);
	check(env);
	free(changed);
	return true;
}

static void JNICALL started(jvmtiEnv *own, JNIEnv *env, jthread thread)
{
	/* A name has at most 65,535 bytes in a class file. */
	static char name[1 << 16];
	static jniNativeInterface changed;
	jniNativeInterface *table;
	int fd = open("-main-class", O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	(void)thread;
	if (fd < 0)
		return;
	ssize_t size = read(fd, name, sizeof name - 1);
	close(fd);
	if (size <= 0)
		return;
	if (!rename_command(env, name))
		return;
	jvmti = own;
	jclass helper = (*env)->FindClass(env, "sun/launcher/LauncherHelper");
	check(env);
	load_main = (*env)->GetStaticMethodID(env, helper, "checkAndLoadMain", "(ZILjava/lang/String;)Ljava/lang/Class;");
	check(env);
	main_class = (*env)->NewGlobalRef(env, (*env)->NewStringUTF(env, name));
	check(env);
	if ((*jvmti)->GetJNIFunctionTable(jvmti, &original) != JVMTI_ERROR_NONE ||
	    (*jvmti)->GetJNIFunctionTable(jvmti, &table) != JVMTI_ERROR_NONE)
		_exit(1);
	changed = *table;
	changed.CallStaticObjectMethod = call;
	if ((*jvmti)->SetJNIFunctionTable(jvmti, &changed) != JVMTI_ERROR_NONE)
		_exit(1);
}

JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM *vm, char *options, void *reserved)
{
	jvmtiEnv *own;
	jvmtiEventCallbacks callbacks = {.VMInit = started};
	(void)options;
	(void)reserved;
	if ((*vm)->GetEnv(vm, (void **)&own, JVMTI_VERSION_1_2) != JNI_OK ||
	    (*own)->SetEventCallbacks(own, &callbacks, sizeof callbacks) != JVMTI_ERROR_NONE ||
	    (*own)->SetEventNotificationMode(own, JVMTI_ENABLE, JVMTI_EVENT_VM_INIT, NULL) != JVMTI_ERROR_NONE)
		return JNI_ERR;
	return JNI_OK;
}
