/*
 * The box that a slot keeps parked between steps, built with the last requested sizes: a step then starts with one
 * write instead of namespaces and mounts. If it does not fit, the slot builds another when the request is known. The
 * box of a second step is built while the first step runs.
 */
#define _GNU_SOURCE
#include <errno.h>

#include "slot-parts.h"

/*
 * Each step that leaves a page in a kept work directory leaves a cgroup that the kernel cannot free before the
 * directory goes: about 20 KiB, charged to no cgroup. The service needs two steps.
 */
enum { PREBUILD_TIMEOUT_MS = 50, STEPS_ON_WORK_MAX = 16 };

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

void discard_parked(struct service *v)
{
	struct teardown t;
	if (!v->parked.built)
		return;
	box_destroy(&v->slot, &v->parked, &t);
	v->dirty = v->dirty || !t.reaped || t.left_count || t.mounts;
}

int park_fresh(struct service *v, const struct shape *shape, struct failure *f)
{
	discard_parked(v);
	if (work_mount(&v->slot, shape, f) < 0)
		return -1;
	v->work = *shape;
	v->work_used = false;
	v->steps_on_work = 1;
	v->parked_on_work = false;
	return box_build(&v->slot, &v->parked, shape, f);
}

/* Parks a box on the work directory that the previous step uses or has left. */
static int park_on_work(struct service *v, const struct shape *shape, struct failure *f)
{
	discard_parked(v);
	v->parked_on_work = true;
	return box_build(&v->slot, &v->parked, shape, f);
}

int fit_box(struct service *v, const struct request *r, struct failure *f)
{
	struct shape want = request_shape(r);
	if (r->number[KEY_KEEP_WORK]) {
		v->following = want;
		if (!v->slot.work_mounted || !v->work_used)
			return fail_with(f, ENOENT, "request", "no work directory to keep");
		if (v->steps_on_work++ == STEPS_ON_WORK_MAX)
			return fail_with(f, EMLINK, "request", "too many steps on one work directory");
		if (v->parked.built && v->parked_on_work && same_tmp(&v->parked.shape, &want))
			return 0;
		return park_on_work(v, &want, f);
	}
	v->fresh = want;
	if (v->parked.built && !v->parked_on_work && same_work(&v->work, &want) && same_tmp(&v->parked.shape, &want))
		return 0;
	return park_fresh(v, &want, f);
}

void park_next_step(void *context)
{
	struct service *v = context;
	struct failure unused = {0};
	if (!v->following.work_bytes)
		return;
	/* The first step is not supervised meanwhile. */
	v->slot.timeout_ms = PREBUILD_TIMEOUT_MS;
	park_on_work(v, &v->following, &unused);
	v->slot.timeout_ms = BUILD_TIMEOUT_MS;
}

void discard_work(struct service *v)
{
	struct failure f = {0};
	discard_parked(v);
	if (work_unmount(&v->slot, &f) < 0)
		v->dirty = true;
}
