/*
 * The boxes that a slot keeps parked between steps, built with the last requested sizes: a step then starts with one
 * write instead of namespaces and mounts. If a box does not fit, the slot builds another when the request is known. The
 * box of a second step is built while the first step runs.
 *
 * After a PARK, the program of a parked box is a runtime that has started and waits for its step. It serves only a step
 * with the same command, environment and limits; any other step gets a new box.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "slot-parts.h"

/*
 * Each step that leaves a page in a kept work directory leaves a cgroup that the kernel cannot free before the
 * directory goes: about 20 KiB, charged to no cgroup. The service needs two steps.
 */
enum { PREBUILD_TIMEOUT_MS = 50, STEPS_ON_WORK_MAX = 16, LARGE_BYTES = 128 * 1024, IDLE_SHARE = 100 };

static struct shape request_shape(const struct request *r)
{
	return (struct shape){r->number[KEY_WORK_BYTES], r->number[KEY_WORK_INODES], r->number[KEY_TMP_BYTES],
			      r->number[KEY_TMP_INODES]};
}

static bool same_work(const struct shape *a, const struct shape *b)
{
	return a->work_bytes == b->work_bytes && a->work_inodes == b->work_inodes;
}

static bool same_tmp(const struct shape *a, const struct shape *b)
{
	return a->tmp_bytes == b->tmp_bytes && a->tmp_inodes == b->tmp_inodes;
}

static bool same_bytes(const struct bytes *a, const struct bytes *b, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		if (a[i].size != b[i].size || memcmp(a[i].data, b[i].data, a[i].size))
			return false;
	return true;
}

/* Whether the runtime was started for such a step. Files, where the slot keeps them, and input may differ. */
static bool same_step(const struct request *a, const struct request *b)
{
	for (unsigned key = 0; key < KEY_COUNT; key++)
		if (key != KEY_KEEP_FILES && a->number[key] != b->number[key])
			return false;
	return a->args == b->args && a->envs == b->envs &&
	       same_bytes(a->arg, b->arg, a->args) && same_bytes(a->env, b->env, a->envs);
}

static void forget_request(struct parked *p)
{
	free(p->request);
	p->request = NULL;
	area_free(&p->body);
}

void discard(struct service *v, struct parked *p)
{
	struct teardown t;
	forget_request(p);
	if (!p->box.built)
		return;
	box_destroy(&v->slot, &p->box, &t);
	v->dirty = v->dirty || !t.reaped || t.left_count || t.mounts;
}

static int build_fresh(struct service *v, const struct shape *shape, bool piped, struct failure *f)
{
	discard(v, &v->following);
	discard(v, &v->fresh);
	if (work_leave(&v->slot, f) < 0)
		return -1;
	v->work = *shape;
	v->work_used = false;
	v->steps_on_work = 1;
	return box_build(&v->slot, &v->fresh.box, shape, piped, f);
}

int park_fresh(struct service *v, const struct shape *shape, struct failure *f)
{
	return build_fresh(v, shape, false, f);
}

/* Parks a box on the work directory that the previous step will use, uses or has left. */
static int park_following(struct service *v, const struct shape *shape, bool piped, struct failure *f)
{
	discard(v, &v->following);
	if (!v->slot.work_shared && !v->fresh.box.built)
		return fail_with(f, ENOENT, "request", "no work directory to keep");
	if (!v->slot.work_shared && work_share(&v->slot, &v->fresh.box, f) < 0)
		return -1;
	return box_build(&v->slot, &v->following.box, shape, piped, f);
}

/* Whether the parked box fits, without regard to its runtime. */
static bool fits(const struct service *v, const struct parked *p, const struct shape *want)
{
	return p->box.built && same_tmp(&p->box.shape, want) && (p == &v->following || same_work(&v->work, want));
}

/* Counts a step, or a runtime that starts before one. */
static int count_step_on_work(struct service *v, struct failure *f)
{
	if (v->steps_on_work >= STEPS_ON_WORK_MAX)
		return fail_with(f, EMLINK, "request", "too many steps on one work directory");
	v->steps_on_work++;
	return 0;
}

struct parked *fit_box(struct service *v, const struct request *r, struct failure *f)
{
	struct shape want = request_shape(r);
	bool keep = r->number[KEY_KEEP_WORK], piped = r->number[KEY_LIVE_STDIN];
	struct parked *p = keep ? &v->following : &v->fresh;
	if (keep && (!v->slot.work_shared || !v->work_used)) {
		fail_with(f, ENOENT, "request", "no work directory to keep");
		return NULL;
	}
	if (keep && count_step_on_work(v, f) < 0)
		return NULL;
	*(keep ? &v->last_following : &v->last_fresh) = want;
	bool waits = !p->request || (same_step(p->request, r) && runtime_waits(&v->slot, &p->box));
	/* Boxes are parked for input that is known at the start. */
	if (piped || !fits(v, p, &want) || !waits) {
		int done = keep ? park_following(v, &want, piped, f) : build_fresh(v, &want, piped, f);
		if (done < 0)
			return NULL;
	}
	forget_request(p);
	return p;
}

int write_files(struct service *v, const struct request *r, const struct box *b, struct failure *f)
{
	size_t total = 0;
	for (unsigned i = 0; i < r->files; i++)
		total += r->file_data[i].size;
	bool large = total >= LARGE_BYTES && work_store_large(&v->slot, b, true) == 0;
	for (unsigned i = 0; i < r->files; i++) {
		char name[FILE_PATH_MAX + 1];
		snprintf(name, sizeof name, "%.*s", (int)r->file_name[i].size, (const char *)r->file_name[i].data);
		if (work_write(&v->slot, name, r->file_data[i].data, r->file_data[i].size, file_mode(r->file_modes, i), f) < 0)
			return -1;
	}
	if (large && work_store_large(&v->slot, b, false) < 0)
		return fail(f, "mount", "/box as before");
	return 0;
}

/* A step that keeps the work directory of the one before gets a box on it; its peer always has one of its own. */
int build_pair(struct service *v, const struct request *r[2], struct box box[2], struct failure *f)
{
	bool keep = r[0]->number[KEY_KEEP_WORK];
	if (keep && (!v->slot.work_shared || !v->work_used))
		return fail_with(f, ENOENT, "request", "no work directory to keep");
	discard(v, &v->following);
	discard(v, &v->fresh);
	for (int i = 0; i < 2; i++) {
		struct shape want = request_shape(r[i]);
		if (((i > 0 || !keep) && work_leave(&v->slot, f) < 0) ||
		    box_build(&v->slot, &box[i], &want, true, f) < 0 || write_files(v, r[i], &box[i], f) < 0)
			return -1;
	}
	return 0;
}

struct parked *park_for(struct service *v, const struct request *r, struct failure *f)
{
	struct shape want = request_shape(r);
	bool keep = r->number[KEY_KEEP_WORK];
	struct parked *p = keep ? &v->following : &v->fresh;
	if (p->request || !fits(v, p, &want)) {
		int done = keep ? park_following(v, &want, false, f) : park_fresh(v, &want, f);
		if (done < 0)
			return NULL;
	}
	*(keep ? &v->last_following : &v->last_fresh) = want;
	if (r->park_args == 0)
		return p;
	if (keep && count_step_on_work(v, f) < 0)
		return NULL;
	p->request = malloc(sizeof *p->request);
	p->since_ns = now_ns();
	if (!p->request || start_runtime(&v->slot, &p->box, r, f) < 0) {
		discard(v, p);
		return NULL;
	}
	*p->request = *r;
	p->body = v->body;
	v->body = (struct area){0};
	return p;
}

/*
 * A runtime waits for as long as it takes, but has no more CPU time and kernel memory than a step: a compromised service
 * can have started any program. Idle runtimes use less than a hundredth of the time.
 */
static bool exceeds(const struct service *v, const struct parked *p)
{
	const struct groups *g = &v->slot.launcher->groups;
	uint64_t used, kernel, waited_usec = (now_ns() - p->since_ns) / 1000;
	if (leaf_read(g, p->box.leaf, FACT_CPU_USEC, &used) < 0 || leaf_read(g, p->box.leaf, FACT_KERNEL_NOW, &kernel) < 0)
		return true;
	return used - p->box.base_cpu_usec > p->request->number[KEY_CPU_MS] * 1000 + waited_usec / IDLE_SHARE ||
	       kernel > p->request->number[KEY_KERNEL_BYTES];
}

bool check_parked(struct service *v)
{
	struct parked *all[] = {&v->fresh, &v->following};
	bool waits = false;
	for (int i = 0; i < 2; i++) {
		if (all[i]->request && exceeds(v, all[i]))
			discard(v, all[i]);
		waits = waits || all[i]->request;
	}
	return waits;
}

void park_next_step(void *context)
{
	struct service *v = context;
	struct failure unused = {0};
	if (v->following.box.built || !v->last_following.work_bytes)
		return;
	/* The first step is not supervised meanwhile. */
	v->slot.timeout_ms = PREBUILD_TIMEOUT_MS;
	park_following(v, &v->last_following, false, &unused);
	v->slot.timeout_ms = BUILD_TIMEOUT_MS;
}

void discard_work(struct service *v)
{
	struct failure f = {0};
	discard(v, &v->following);
	discard(v, &v->fresh);
	if (work_leave(&v->slot, &f) < 0)
		v->dirty = true;
}
