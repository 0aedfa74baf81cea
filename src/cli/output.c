/* output.c - see output.h. JSON and YAML are the API's own objects, field by field. */
#include "cli/output.h"

#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "api/json_path.h"
#include "api/object.h"
#include "api/yaml.h"
#include "cli/command.h"
#include "cli/tame.h"

const char *const output_manifest_formats[] = {"yaml", "json", NULL};
const char *const output_formats[] = {"table", "wide", "json", "yaml", "name", "jsonpath=", NULL};

/* "kind.group/name", as kubectl writes it. */
static void write_names(struct buf *out, const struct json *list)
{
    json_each (object, json_get(list, "items")) {
        const char *version = json_get_string(object, "apiVersion", "");
        const char *slash = strchr(version, '/');

        for (const char *c = json_get_string(object, "kind", ""); *c; c++)
            buf_addc(out, (char)tolower((unsigned char)*c));
        if (slash)
            buf_addf(out, ".%.*s", (int)(slash - version), version);
        buf_addf(out, "/%s\n", object_name(object));
    }
}

void output_text(const struct buf *text)
{
    struct buf tamed = BUF_INIT(CLI_TEXT_LIMIT_BYTES);

    if (text->len && isatty(STDOUT_FILENO)) {
        tame_text(&tamed, text->data, text->len);
        text = &tamed;
    }
    if (text->len)
        fwrite(text->data, 1, text->len, stdout);
    buf_release(&tamed);
}

int output_bytes(int fd, const char *data, size_t len)
{
    while (len > 0) {
        ssize_t n = write(fd, data, len);

        if (n < 0 && errno == EAGAIN) {
            struct pollfd room = {.fd = fd, .events = POLLOUT};

            (void)poll(&room, 1, -1);
        } else if (n < 0 && errno != EINTR) {
            return -errno;
        } else if (n > 0) {
            data += n;
            len -= (size_t)n;
        }
    }
    return 0;
}

void output_manifest(const char *format, const struct manifest *m)
{
    struct buf out = BUF_INIT(CLI_TEXT_LIMIT_BYTES);
    bool json = strcmp(format, "json") == 0;

    for (const struct manifest_object *o = m->first; o; o = o->next) {
        if (json)
            json_write_pretty(&out, o->said);
        else
            buf_adds(&out, o == m->first ? "" : "---\n");
        if (!json)
            yaml_write(&out, o->said);
    }
    output_text(&out);
    buf_release(&out);
}

/* "{.items[*].status.phase}", kubectl's form, is ".status.phase" of each. */
static const char *read_path(struct arena *a, const char *text)
{
    static const char items[] = ".items[*]";
    size_t len = strlen(text);
    bool braces = len > 1 && text[0] == '{' && text[len - 1] == '}';
    const char *path = braces ? arena_strndup(a, text + 1, len - 2) : text;

    return path && strncmp(path, items, strlen(items)) == 0 ? path + strlen(items) : path;
}

static int write_paths(struct buf *out, const char *text, const struct json *list, struct err *err)
{
    struct arena a = ARENA_INIT(64u * 1024u);
    const char *path = read_path(&a, text);
    int r = 1;

    if (!path || !json_path_is_valid(path)) {
        r = err_set(err, ERR_BAD_REQUEST, "'%s' is not a supported JSONPath", text);
        err_hint(err, "like -o jsonpath=.status.phase, which is printed for each");
    }
    json_each (item, json_get(list, "items")) {
        const struct json *found = r > 0 ? json_path_first(item, path) : NULL;

        if (json_is(found, JSON_STRING))
            buf_adds(out, json_string(found, ""));
        else if (found)
            json_write(out, found);
        buf_adds(out, r > 0 ? "\n" : "");
    }
    arena_release(&a);
    return r;
}

/* managedFields are longer than the object, and of no use to people. */
static const struct json *without_managers(struct arena *a, const struct json *list)
{
    struct json *copy = json_clone(a, list);

    for (struct json *item = json_first_mut(json_get_mut(copy, "items")); item; item = item->next)
        json_remove(json_get_mut(item, "metadata"), "managedFields");
    return copy ? copy : list;
}

int output_list(const char *format, const struct json *list, struct err *err)
{
    static const char jsonpath[] = "jsonpath=";
    struct buf out = BUF_INIT(CLI_TEXT_LIMIT_BYTES);
    struct arena a = ARENA_INIT(CLI_TEXT_LIMIT_BYTES);
    int r = 1;

    if (strcmp(format, "json") == 0)
        json_write_pretty(&out, without_managers(&a, list));
    else if (strcmp(format, "yaml") == 0)
        yaml_write(&out, without_managers(&a, list));
    else if (strcmp(format, "name") == 0)
        write_names(&out, list);
    else if (strncmp(format, jsonpath, strlen(jsonpath)) == 0)
        r = write_paths(&out, format + strlen(jsonpath), list, err);
    else
        r = 0;
    arena_release(&a);
    output_text(&out);
    buf_release(&out);
    return r;
}
