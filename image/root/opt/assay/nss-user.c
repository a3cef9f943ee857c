/*
 * Finds the user of a box by its name, for the C library (/etc/nsswitch.conf). All users of a slot have this name in /etc/passwd
 * (launcher/image-root.c), and each process is to find its own.
 */
#include <errno.h>
#include <grp.h>
#include <nss.h>
#include <pwd.h>
#include <string.h>
#include <unistd.h>

static char no_text[] = "", hidden[] = "x", home[] = "/box", shell[] = "/bin/sh";

static enum nss_status copy_name(const char *name, char *buffer, size_t size, int *err)
{
	static const char user[] = "user";
	/* Root is in no box, but the image is built as root. */
	if (strcmp(name, user) || getuid() == 0)
		return NSS_STATUS_NOTFOUND;
	if (size < sizeof user) {
		*err = ERANGE;
		return NSS_STATUS_TRYAGAIN;
	}
	memcpy(buffer, user, sizeof user);
	return NSS_STATUS_SUCCESS;
}

enum nss_status _nss_user_getpwnam_r(const char *name, struct passwd *found, char *buffer, size_t size, int *err);
enum nss_status _nss_user_getpwnam_r(const char *name, struct passwd *found, char *buffer, size_t size, int *err)
{
	enum nss_status status = copy_name(name, buffer, size, err);
	if (status == NSS_STATUS_SUCCESS)
		*found = (struct passwd){.pw_name = buffer, .pw_passwd = hidden, .pw_uid = getuid(), .pw_gid = getgid(),
					 .pw_gecos = no_text, .pw_dir = home, .pw_shell = shell};
	return status;
}

enum nss_status _nss_user_getgrnam_r(const char *name, struct group *found, char *buffer, size_t size, int *err);
enum nss_status _nss_user_getgrnam_r(const char *name, struct group *found, char *buffer, size_t size, int *err)
{
	static char *no_members[] = {NULL};
	enum nss_status status = copy_name(name, buffer, size, err);
	if (status == NSS_STATUS_SUCCESS)
		*found = (struct group){.gr_name = buffer, .gr_passwd = hidden, .gr_gid = getgid(), .gr_mem = no_members};
	return status;
}
