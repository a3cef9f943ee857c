/*
 * Parses requests for slot/slot.c. Apart from this, root interprets only the headers of frames (slot/slot.c) and the bodies of SIGNAL
 * (supervise/supervise.c) of what the unprivileged service sends. There is one loop and one table, each length is checked against the
 * rest before its use, and there is no recursion and no allocation.
 */
#include "wire/wire.h"

#include <stdio.h>
#include <string.h>

enum type { INT, BYTES };
enum count { ONE, OPT, MANY };

static struct key_row {
	const char *name;
	enum type type;
	enum frame frame;
	enum count count;
	uint64_t smallest, largest;
	uint64_t lowered; /* the ceiling for submissions, if there is a lower one than `largest`; otherwise 0 */
} keys[KEY_COUNT] = {
#define FRAME(...)
#define KEY(number, name, type, frame, count, smallest, largest) \
	[number] = {#name, type, FRAME_##frame, count, smallest, largest, 0},
#include "protocol.def"
#undef FRAME
#undef KEY
};

/*
 * Whether it limits a time. The ceilings of times are for submissions, which wait for a slot: an execution in a sandbox has a slot of its own, and
 * can be a server or a terminal.
 */
static bool is_time(int key)
{
	return key == KEY_WALL_MS || key == KEY_CPU_MS || key == KEY_CPU_RLIMIT_SECS;
}

int wire_lower_limit(const char *name, uint64_t most)
{
	for (int k = 0; k < KEY_COUNT; k++)
		if (keys[k].name && !strcmp(keys[k].name, name) && keys[k].frame == FRAME_STEP && keys[k].type == INT &&
		    most >= keys[k].smallest && most <= keys[k].largest) {
			if (is_time(k))
				keys[k].lowered = most;
			else
				keys[k].largest = most;
			return 0;
		}
	return -1;
}

size_t wire_bytes_max(enum key key)
{
	return keys[key].type == BYTES ? (size_t)keys[key].largest : SIZE_MAX;
}

static uint32_t load32(const uint8_t *p)
{
	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static uint64_t load64(const uint8_t *p)
{
	return (uint64_t)load32(p) | (uint64_t)load32(p + 4) << 32;
}

static int refuse(struct refusal *why, const char *reason, const char *object)
{
	why->reason = reason;
	why->object = object;
	return -1;
}

/* Returns the size of the character at `p`, or 0 if it is a control character, or if the bytes there are not UTF-8. */
static size_t character_size(const uint8_t *p, size_t left)
{
	if (p[0] < 0x80)
		return p[0] >= 0x20 && p[0] != 0x7f;
	size_t size = p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;
	if (p[0] < 0xc2 || p[0] > 0xf4 || size > left)
		return 0;
	uint32_t code = p[0] & (0x7fu >> size);
	for (size_t i = 1; i < size; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (p[i] & 0x3fu);
	}
	uint32_t smallest = size == 2 ? 0xa0 : size == 3 ? 0x800 : 0x10000; /* U+0080 to U+009F are control characters */
	bool surrogate = code >= 0xd800 && code <= 0xdfff;
	return code < smallest || surrogate || code > 0x10ffff ? 0 : size;
}

bool file_path_valid(struct bytes path)
{
	unsigned parts = 1;
	size_t start = 0; /* of the component */
	for (size_t i = 0; i < path.size;) {
		if (path.data[i] == '/') {
			if (i == start || ++parts > PATH_PARTS_MAX)
				return false;
			start = ++i;
			continue;
		}
		size_t size = character_size(path.data + i, path.size - i);
		if (!size || (i == start && path.data[i] == '.') || i + size - start > PATH_PART_MAX)
			return false;
		i += size;
	}
	return path.size > start;
}

static int append(struct bytes *list, unsigned *used, unsigned most, struct bytes value)
{
	if (*used == most)
		return -1;
	list[(*used)++] = value;
	return 0;
}

static int store_bytes(struct request *r, enum key key, struct bytes value, unsigned *datas)
{
	switch (key) {
	case KEY_ARG:
		return append(r->arg, &r->args, ARGS_MAX, value);
	case KEY_PARK_ARG:
		return append(r->park_arg, &r->park_args, ARGS_MAX, value);
	case KEY_ENV:
		return append(r->env, &r->envs, ENV_MAX, value);
	case KEY_FILE_NAME:
		/* A name is accepted only after the data of the previous name, so that each name has its data. */
		return r->files == *datas ? append(r->file_name, &r->files, FILES_MAX, value) : -1;
	case KEY_FILE_DATA:
		return *datas + 1 == r->files ? append(r->file_data, datas, FILES_MAX, value) : -1;
	case KEY_FILE_MODES:
		r->file_modes = value;
		return 0;
	case KEY_SANDBOX:
		r->sandbox = value;
		return 0;
	case KEY_CWD:
		r->cwd = value;
		return 0;
	default:
		r->stdin_data = value;
		return 0;
	}
}

unsigned file_mode(struct bytes modes, unsigned file)
{
	return modes.size ? (unsigned)modes.data[2 * file] | (unsigned)modes.data[2 * file + 1] << 8 : MODE_DEFAULT;
}

static int validate_modes(const struct request *r, struct refusal *why)
{
	if (r->file_modes.size && r->file_modes.size != 2 * (size_t)r->files)
		return refuse(why, "one for each file", "FILE_MODES");
	for (unsigned i = 0; i < r->files; i++) {
		unsigned mode = file_mode(r->file_modes, i);
		if (mode != MODE_DEFAULT && (mode & ~(MODE_DIRECTORY | 0777u)))
			return refuse(why, "is no mode of a file", "FILE_MODES");
		if (mode != MODE_DEFAULT && (mode & MODE_DIRECTORY) && r->file_data[i].size)
			return refuse(why, "directory with data", "FILE_DATA");
	}
	return 0;
}

static int validate_arguments(const struct bytes *arg, unsigned args, const char *name, struct refusal *why)
{
	for (unsigned i = 0; i < args; i++)
		if (memchr(arg[i].data, 0, arg[i].size))
			return refuse(why, "contains NUL", name);
	return 0;
}

/* Whether it consists of lower-case hexadecimal digits, so that it names nothing but a token. */
static bool token_valid(struct bytes token)
{
	for (size_t i = 0; i < token.size; i++)
		if (!(token.data[i] >= '0' && token.data[i] <= '9') && !(token.data[i] >= 'a' && token.data[i] <= 'f'))
			return false;
	return true;
}

/* What only a STEP in a sandbox has, and what only other requests have. slot/ and sandbox/ refuse a request that came to the wrong socket. */
static int validate_sandbox(enum frame frame, const struct request *r, const bool *seen, struct refusal *why)
{
	static const enum key of_sandbox[] = {KEY_CWD, KEY_ROWS, KEY_COLUMNS, KEY_LEAVE_PROCESSES, KEY_PACED, KEY_WHILE_FROZEN};
	static const enum key of_box[] = {KEY_KEEP_WORK, KEY_MORE, KEY_COLLECT, KEY_KEEP_FILES};
	for (size_t i = 0; i < sizeof of_sandbox / sizeof *of_sandbox; i++)
		if (seen[of_sandbox[i]] && !seen[KEY_SANDBOX])
			return refuse(why, "only in a sandbox", keys[of_sandbox[i]].name);
	for (int k = 0; k < KEY_COUNT && !seen[KEY_SANDBOX]; k++)
		if (keys[k].lowered && r->number[k] > keys[k].lowered)
			return refuse(why, "out of range", keys[k].name);
	if (!seen[KEY_SANDBOX])
		return 0;
	if (frame != FRAME_STEP)
		return refuse(why, "only in STEP", "SANDBOX");
	if (!token_valid(r->sandbox))
		return refuse(why, "is no token", "SANDBOX");
	for (size_t i = 0; i < sizeof of_box / sizeof *of_box; i++)
		if (r->number[of_box[i]])
			return refuse(why, "not in a sandbox", keys[of_box[i]].name);
	if (r->files)
		return refuse(why, "not in a sandbox", "FILE_NAME");
	if (memchr(r->cwd.data ? r->cwd.data : (const uint8_t *)"", 0, r->cwd.size))
		return refuse(why, "contains NUL", "CWD");
	if (seen[KEY_ROWS] != seen[KEY_COLUMNS])
		return refuse(why, "a terminal has both", "ROWS");
	if (seen[KEY_ROWS] && !r->number[KEY_LIVE_STDIN])
		return refuse(why, "a terminal needs LIVE_STDIN", "ROWS");
	return 0;
}

static int validate_request(enum frame frame, const struct request *r, const bool *seen, unsigned datas, struct refusal *why)
{
	for (int k = 0; k < KEY_COUNT; k++)
		if (keys[k].name && keys[k].frame == FRAME_STEP && keys[k].count == ONE && !seen[k])
			return refuse(why, "missing key", keys[k].name);
	if (r->args == 0)
		return refuse(why, "missing key", "ARG");
	if (datas != r->files)
		return refuse(why, "file without data", "FILE_DATA");
	if (validate_arguments(r->arg, r->args, "ARG", why) < 0 || validate_arguments(r->park_arg, r->park_args, "PARK_ARG", why) < 0)
		return -1;
	for (unsigned i = 0; i < r->envs; i++)
		if (memchr(r->env[i].data, 0, r->env[i].size) || !memchr(r->env[i].data, '=', r->env[i].size))
			return refuse(why, "is not NAME=VALUE", "ENV");
	for (unsigned i = 0; i < r->files; i++) {
		if (!file_path_valid(r->file_name[i]))
			return refuse(why, "is not a plain path", "FILE_NAME");
		for (unsigned j = 0; j < i; j++)
			if (r->file_name[i].size == r->file_name[j].size &&
			    !memcmp(r->file_name[i].data, r->file_name[j].data, r->file_name[i].size))
				return refuse(why, "twice the same name", "FILE_NAME");
	}
	if (validate_modes(r, why) < 0)
		return -1;
	/* Root never writes into a directory that a payload has used. */
	if (r->number[KEY_KEEP_WORK] && (r->files || r->number[KEY_KEEP_FILES]))
		return refuse(why, "files only into a fresh work directory", "FILE_NAME");
	if (frame != FRAME_STEP && r->number[KEY_KEEP_FILES])
		return refuse(why, "only in STEP", "KEEP_FILES");
	/* A runtime gets no file and no input of a submission before its step. */
	if (frame == FRAME_PARK && (r->files || r->stdin_data.size))
		return refuse(why, "files and input only in a STEP", "PARK");
	if (frame == FRAME_PEER && (r->stdin_data.size || r->number[KEY_KEEP_WORK] || r->number[KEY_MORE]))
		return refuse(why, "has no input and a /box of its own", "PEER");
	if (r->number[KEY_LIVE_STDIN] && (frame != FRAME_STEP || r->stdin_data.size))
		return refuse(why, "only in a STEP without STDIN", "LIVE_STDIN");
	if (frame != FRAME_PARK && r->park_args)
		return refuse(why, "only in PARK", "PARK_ARG");
	return validate_sandbox(frame, r, seen, why);
}

/* What is left of the body of a frame. */
struct body {
	const uint8_t *at;
	size_t size;
};

/*
 * Takes the next entry of a body, whose keys are those of `frame`. `value` receives its bytes, and `number` its value if it is an INT.
 * Returns the key, or -1 with the refusal.
 */
static int take_entry(struct body *b, enum frame frame, bool *seen, struct bytes *value, uint64_t *number, struct refusal *why)
{
	if (b->size < 5)
		return refuse(why, "torn entry", "");
	enum key key = b->at[0];
	size_t length = load32(b->at + 1);
	b->at += 5;
	b->size -= 5;
	const struct key_row *row = &keys[key];
	if (!row->name || row->frame != frame)
		return refuse(why, "unknown key", "");
	if (length > b->size)
		return refuse(why, "longer than its frame", row->name);
	if (row->count != MANY && seen[key])
		return refuse(why, "twice", row->name);
	seen[key] = true;
	*number = length;
	if (row->type == INT) {
		if (length != 8)
			return refuse(why, "is not 8 bytes", row->name);
		*number = load64(b->at);
	}
	if (*number < row->smallest || *number > row->largest)
		return refuse(why, "out of range", row->name);
	*value = (struct bytes){b->at, length};
	b->at += length;
	b->size -= length;
	return (int)key;
}

int request_parse(enum frame frame, const uint8_t *body, size_t size, struct request *out, struct refusal *why)
{
	bool seen[KEY_COUNT] = {false};
	unsigned datas = 0;
	struct body rest = {body, size};

	memset(out, 0, sizeof *out);
	while (rest.size > 0) {
		struct bytes value;
		uint64_t number;
		int key = take_entry(&rest, FRAME_STEP, seen, &value, &number, why);
		if (key < 0)
			return -1;
		if (keys[key].type == INT)
			out->number[key] = number;
		else if (store_bytes(out, (enum key)key, value, &datas) < 0)
			return refuse(why, "too many, or out of order", keys[key].name);
	}
	return validate_request(frame, out, seen, datas, why);
}

int hold_parse(const uint8_t *body, size_t size, struct hold_request *out, struct refusal *why)
{
	bool seen[KEY_COUNT] = {false};
	uint64_t number[KEY_COUNT] = {0}, value;
	struct bytes network = {0}, bytes;
	struct body rest = {body, size};
	while (rest.size > 0) {
		int key = take_entry(&rest, FRAME_HOLD, seen, &bytes, &value, why);
		if (key < 0)
			return -1;
		number[key] = value;
		if (key == KEY_HOLD_NETWORK)
			network = bytes;
	}
	for (int k = 0; k < KEY_COUNT; k++)
		if (keys[k].name && keys[k].frame == FRAME_HOLD && keys[k].count == ONE && !seen[k])
			return refuse(why, "missing key", keys[k].name);
	*out = (struct hold_request){number[KEY_HOLD_MEMORY], number[KEY_HOLD_PROCESSES], number[KEY_HOLD_DISK], number[KEY_HOLD_INODES], 
				    (uint32_t)number[KEY_HOLD_ACCOUNT], number[KEY_HOLD_ON_DISK] == 1, ""};
	if (seen[KEY_HOLD_NETWORK] && !token_valid(network))
		return refuse(why, "is no token", "HOLD_NETWORK");
	if (seen[KEY_HOLD_NETWORK])
		memcpy(out->network, network.data, TOKEN_BYTES);
	return 0;
}

int rejoin_parse(const uint8_t *body, size_t size, char token[TOKEN_BYTES + 1], struct refusal *why)
{
	bool seen[KEY_COUNT] = {false};
	uint64_t unused;
	struct bytes value = {0};
	struct body rest = {body, size};
	while (rest.size > 0)
		if (take_entry(&rest, FRAME_REJOIN, seen, &value, &unused, why) < 0)
			return -1;
	if (!seen[KEY_REJOIN_TOKEN])
		return refuse(why, "missing key", "REJOIN_TOKEN");
	if (!token_valid(value))
		return refuse(why, "is no token", "REJOIN_TOKEN");
	memcpy(token, value.data, TOKEN_BYTES);
	token[TOKEN_BYTES] = 0;
	return 0;
}

static const char *frame_name(enum frame frame)
{
	switch (frame) {
#define FRAME(number, name, direction) \
	case FRAME_##name: \
		return #name;
#define KEY(...)
#include "protocol.def"
#undef FRAME
#undef KEY
	}
	return "";
}

void wire_describe(const char *build)
{
	static const char *type_name[] = {"int", "bytes"}, *count_name[] = {"one", "optional", "many"};
	printf("{\"protocol\":%d,\"build\":\"%s\",\"frames\":{", PROTOCOL_VERSION, build);
	const char *comma = "";
#define FRAME(number, name, direction) \
	printf("%s\"%s\":{\"number\":%d,\"direction\":\"%s\"}", comma, #name, number, #direction); \
	comma = ",";
#define KEY(...)
#include "protocol.def"
#undef FRAME
#undef KEY
	printf("},\"keys\":{");
	comma = "";
	for (int k = 0; k < KEY_COUNT; k++) {
		const struct key_row *row = &keys[k];
		if (!row->name)
			continue;
		printf("%s\"%s\":{\"number\":%d,\"type\":\"%s\",\"frame\":\"%s\",\"count\":\"%s\",\"smallest\":\"%llu\","
		       "\"largest\":\"%llu\"}", comma, row->name, k, type_name[row->type], frame_name(row->frame),
		       count_name[row->count], (unsigned long long)row->smallest,
		       (unsigned long long)(row->lowered ? row->lowered : row->largest));
		comma = ",";
	}
	printf("}}\n");
}
