/* Reads the type information of the running kernel (bpf.h). */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/btf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bpf.h"

enum { BTF_BYTES_MAX = 64 << 20, BITS = 8 };

/* Sections of the type information. Offsets in it are checked, although it is the kernel's own. */
struct btf {
	const char *types, *strings;
	size_t types_size, strings_size;
};

static const char *name_at(const struct btf *b, uint32_t offset)
{
	return offset < b->strings_size && memchr(b->strings + offset, 0, b->strings_size - offset) ? b->strings + offset : "";
}

/* The size of what follows a type of this kind; SIZE_MAX if the kind is unknown. */
static size_t size_after(unsigned kind, size_t items)
{
	switch (kind) {
	case BTF_KIND_INT: case BTF_KIND_VAR: case BTF_KIND_DECL_TAG: return 4;
	case BTF_KIND_ARRAY: return sizeof(struct btf_array);
	case BTF_KIND_STRUCT: case BTF_KIND_UNION: return items * sizeof(struct btf_member);
	case BTF_KIND_ENUM: case BTF_KIND_FUNC_PROTO: return items * 8;
	case BTF_KIND_DATASEC: case BTF_KIND_ENUM64: return items * 12;
	case BTF_KIND_PTR: case BTF_KIND_FWD: case BTF_KIND_TYPEDEF: case BTF_KIND_VOLATILE: case BTF_KIND_CONST: case BTF_KIND_RESTRICT:
	case BTF_KIND_FUNC: case BTF_KIND_FLOAT: case BTF_KIND_TYPE_TAG: return 0;
	default: return SIZE_MAX;
	}
}

static void look_at_members(const struct btf *b, const struct btf_type *type, const struct btf_member *member, struct btf_wanted *w)
{
	for (unsigned i = 0; i < BTF_INFO_VLEN(type->info); i++) {
		uint32_t bits = BTF_INFO_KFLAG(type->info) ? BTF_MEMBER_BIT_OFFSET(member[i].offset) : member[i].offset;
		if (!strcmp(name_at(b, member[i].name_off), w->member))
			w->found = bits / BITS;
	}
}

static int search(const struct btf *b, struct btf_wanted *wanted, size_t count)
{
	for (size_t at = 0; at + sizeof(struct btf_type) <= b->types_size;) {
		const struct btf_type *type = (const void *)(b->types + at);
		unsigned kind = BTF_INFO_KIND(type->info);
		size_t after = size_after(kind, BTF_INFO_VLEN(type->info));
		at += sizeof *type;
		if (after > b->types_size - at)
			return -1;
		for (size_t i = 0; kind == BTF_KIND_STRUCT && i < count; i++)
			if (!strcmp(name_at(b, type->name_off), wanted[i].name))
				look_at_members(b, type, (const void *)(b->types + at), &wanted[i]);
		at += after;
	}
	return 0;
}

static int parse(const char *data, size_t size, struct btf_wanted *wanted, size_t count)
{
	const struct btf_header *h = (const void *)data;
	if (size < sizeof *h || h->magic != BTF_MAGIC || h->hdr_len > size)
		return -1;
	size_t rest = size - h->hdr_len;
	if (h->type_off > rest || h->type_len > rest - h->type_off || h->str_off > rest || h->str_len > rest - h->str_off)
		return -1;
	const struct btf b = {data + h->hdr_len + h->type_off, data + h->hdr_len + h->str_off, h->type_len, h->str_len};
	return search(&b, wanted, count);
}

/* Reads the whole file. Returns NULL with errno on failure; the caller frees the data. */
static char *read_whole(const char *path, size_t *size)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0 || st.st_size <= 0 || st.st_size > BTF_BYTES_MAX) {
		if (fd >= 0)
			close(fd);
		return NULL;
	}
	*size = (size_t)st.st_size;
	char *data = malloc(*size);
	size_t used = 0;
	for (ssize_t n = 1; data && used < *size && n > 0; used += n > 0 ? (size_t)n : 0)
		n = read(fd, data + used, *size - used);
	close(fd);
	if (data && used < *size) {
		free(data);
		return NULL;
	}
	return data;
}

int btf_find(struct btf_wanted *wanted, size_t count, struct failure *f)
{
	size_t size = 0;
	char *data = read_whole("/sys/kernel/btf/vmlinux", &size);
	if (!data)
		return fail(f, "bpf", "/sys/kernel/btf/vmlinux");
	for (size_t i = 0; i < count; i++)
		wanted[i].found = UINT32_MAX;
	int done = parse(data, size, wanted, count);
	free(data);
	return done < 0 ? fail_with(f, EINVAL, "bpf", "type information of the kernel") : 0;
}
