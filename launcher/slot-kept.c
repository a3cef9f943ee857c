/* Files that a slot keeps for later steps, so that a client sends those of a program once for many inputs. */
#define _GNU_SOURCE
#include <string.h>

#include "slot-parts.h"

static size_t total(const struct request *r)
{
	size_t bytes = r->file_modes.size;
	for (unsigned i = 0; i < r->files; i++)
		bytes += r->file_name[i].size + r->file_data[i].size;
	return bytes;
}

static struct bytes copy(uint8_t **to, struct bytes from)
{
	struct bytes copied = {*to, from.size};
	if (from.size)
		memcpy(*to, from.data, from.size);
	*to += from.size;
	return copied;
}

static int keep(struct kept *k, const struct request *r)
{
	area_free(&k->area);
	k->files = 0;
	if (area_grow(&k->area, total(r)) < 0)
		return -1;
	uint8_t *to = k->area.data;
	k->modes = copy(&to, r->file_modes);
	for (; k->files < r->files; k->files++) {
		k->name[k->files] = copy(&to, r->file_name[k->files]);
		k->data[k->files] = copy(&to, r->file_data[k->files]);
	}
	return 0;
}

const char *kept_files(struct service *v, struct request *r)
{
	uint64_t place = r->number[KEY_KEEP_FILES];
	if (!place)
		return NULL;
	struct kept *k = &v->kept[place - 1];
	if (r->files)
		return keep(k, r) < 0 ? "out of memory" : NULL;
	if (!k->files)
		return "nothing is kept there";
	r->files = k->files;
	memcpy(r->file_name, k->name, sizeof k->name);
	memcpy(r->file_data, k->data, sizeof k->data);
	r->file_modes = k->modes;
	return NULL;
}
