/*
 * v2:     one tree with the memory and pids controllers.
 * hybrid: memory and pids on v1, and an empty v2 leaf in addition. Without any
 *         controller, the v2 core provides CPU time, pressure, emptiness and the id
 *         by which the signal tracepoint counts.
 *
 * If no v2 tree is mounted, the launcher mounts one for itself, so a host with v1 alone is hybrid as well.
 *
 * Never write a pid into cgroup.procs before a verdict: after 20 idle milliseconds that takes 11 ms (a global lock and
 * a grace period). A program is born in its v2 leaf (CLONE_INTO_CGROUP) and enters v1 by writing 0 to `tasks`, which
 * takes 18 us.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cgroup-parts.h"
#include "unforked-memory.h"

#define V1_MEMORY_AND_PIDS \
	[FACT_MEMORY_LIMIT] = {TREE_MEMORY, "memory.limit_in_bytes", NULL}, \
	[FACT_MEMORY_PEAK] = {TREE_MEMORY, "memory.max_usage_in_bytes", NULL}, \
	[FACT_MEMORY_HITS] = {TREE_MEMORY, "memory.failcnt", NULL}, \
	/* v1 has no file that counts OOM events: read_counters() replaces this by the count of the eventfd. */ \
	[FACT_OOM_EVENTS] = {TREE_MEMORY, "memory.oom_control", "oom_kill"}, \
	[FACT_OOM_KILLS] = {TREE_MEMORY, "memory.oom_control", "oom_kill"}, \
	[FACT_PIDS_LIMIT] = {TREE_PIDS, "pids.max", NULL}, \
	[FACT_PIDS_CURRENT] = {TREE_PIDS, "pids.current", NULL}, \
	[FACT_PIDS_REFUSED] = {TREE_PIDS, "pids.events", "max"}, \
	[FACT_PIDS_PEAK] = {TREE_PIDS, "pids.peak", NULL}, \
	[FACT_MEMORY_NOW] = {TREE_MEMORY, "memory.usage_in_bytes", NULL}, \
	[FACT_KERNEL_NOW] = {TREE_MEMORY, "memory.kmem.usage_in_bytes", NULL}

#define V2_CORE \
	[FACT_CPU_USEC] = {TREE_UNIFIED, "cpu.stat", "usage_usec"}, \
	[FACT_POPULATED] = {TREE_UNIFIED, "cgroup.events", "populated"}, \
	[FACT_PRESSURE_FULL] = {TREE_UNIFIED, "cpu.pressure", "full"}, \
	[FACT_PRESSURE_SOME] = {TREE_UNIFIED, "cpu.pressure", "some"}

const struct backend backends[BACKENDS] = {
	[BACKEND_V2] = {
		.name = "cgroup_v2",
		.uses = {[TREE_UNIFIED] = true},
		.controllers = "+memory +pids",
		.fact = {
			[FACT_MEMORY_LIMIT] = {TREE_UNIFIED, "memory.max", NULL},
			[FACT_MEMORY_PEAK] = {TREE_UNIFIED, "memory.peak", NULL},
			[FACT_MEMORY_HITS] = {TREE_UNIFIED, "memory.events", "max"},
			[FACT_OOM_EVENTS] = {TREE_UNIFIED, "memory.events", "oom"},
			[FACT_OOM_KILLS] = {TREE_UNIFIED, "memory.events", "oom_kill"},
			[FACT_PIDS_LIMIT] = {TREE_UNIFIED, "pids.max", NULL},
			[FACT_PIDS_CURRENT] = {TREE_UNIFIED, "pids.current", NULL},
			[FACT_PIDS_REFUSED] = {TREE_UNIFIED, "pids.events", "max"},
			[FACT_PIDS_PEAK] = {TREE_UNIFIED, "pids.peak", NULL},
			[FACT_MEMORY_NOW] = {TREE_UNIFIED, "memory.current", NULL},
			[FACT_KERNEL_NOW] = {TREE_UNIFIED, "memory.stat", "kernel"},
			V2_CORE,
		},
	},
	[BACKEND_HYBRID] = {
		.name = "cgroup_hybrid",
		.uses = {[TREE_MEMORY] = true, [TREE_PIDS] = true, [TREE_CPU] = true, [TREE_UNIFIED] = true},
		/* Making and removing a group takes 5 % of a short run. Memory of a run can stay charged after its end. */
		.keeps = {[TREE_PIDS] = true, [TREE_UNIFIED] = true},
		.fact = {V1_MEMORY_AND_PIDS, V2_CORE},
	},
};

const char *const tree_name[TREE_COUNT] = {"memory", "pids", "cpu", "unified"};

const char *fact_name(enum fact fact)
{
	static const char *const name[FACT_COUNT] = {
		"memory limit", "memory peak", "memory limit hits", "oom events", "oom kills", "process limit",
		"process count", "refused forks", "process peak", "cpu time", "populated", "cpu pressure full",
		"cpu pressure some", "memory", "kernel memory",
	};
	return name[fact];
}

const char *groups_backend(const struct groups *g) { return g->backend->name; }

int leaf_read(const struct groups *g, const struct leaf *leaf, enum fact fact, uint64_t *value)
{
	const struct fact_source *source = &g->backend->fact[fact];
	static struct area area;

	if (!source->file || ((fact == FACT_PRESSURE_FULL || fact == FACT_PRESSURE_SOME) && !g->pressure)) {
		errno = ENODATA;
		return -1;
	}
	enum { BYTES = 4096 };
	char *text = area_of(&area, BYTES);
	ssize_t n = pread(leaf->fact[fact], text, BYTES - 1, 0);
	if (n < 0)
		return -1;
	text[n] = 0;
	const char *p = text;
	if (source->key) {
		size_t length = strlen(source->key);
		while (*p && (strncmp(p, source->key, length) || p[length] != ' '))
			p += strcspn(p, "\n"), p += *p == '\n';
		const char *total = strstr(p, "total=");
		p += *p ? length + 1 : 0;
		if (fact == FACT_PRESSURE_FULL || fact == FACT_PRESSURE_SOME)
			p = total && total < p + strcspn(p, "\n") ? total + strlen("total=") : "";
	}
	/* strtoull would accept a sign and leading blanks, including a line end. */
	bool digits = *p >= '0' && *p <= '9', most = !strncmp(p, "max", 3);
	errno = 0;
	*value = most ? UINT64_MAX : strtoull(p, NULL, 10);
	if (!most && (!digits || errno)) {
		errno = EBADMSG;
		return -1;
	}
	return 0;
}
