/* output.h - objects on stdout, as -o asks: json, yaml or name; and plain bytes. Tables are the
 * commands' own. */
#ifndef MUSTER_CLI_OUTPUT_H
#define MUSTER_CLI_OUTPUT_H

#include "cli/manifest.h"

/* For struct option_spec: what -o may be. */
extern const char *const output_formats[];
#define OUTPUT_FORMAT_NAMES "table|wide|json|yaml|name|jsonpath=PATH"
/* own has the member format. */
#define OPTION_OUTPUT(own)                                                                         \
    OPTION_OF(OPTION_CHOICE, own, format, "output", OUTPUT_FORMAT_NAMES, "how to print them",      \
              .letter = 'o', .values = output_formats)

/* 1: it was printed; 0: the format is a table, which is the command's; negative: the path of
 * jsonpath=.status.phase is wrong. The path's value is printed of each item, a line each. */
int output_list(const char *format, const struct json *list, struct err *err) must_check;
/* What --dry-run prints: own has the members dry_run and format. */
#define OPTION_DRY_RUN(own)                                                                        \
    OPTION_OF_FLAG(own, dry_run, "dry-run", "only print what would be created"),                   \
        OPTION_OF(OPTION_CHOICE, own, format, "output", "yaml|json",                               \
                  "how --dry-run prints it (default yaml)", .letter = 'o',                         \
                  .values = output_manifest_formats)
extern const char *const output_manifest_formats[];
void output_manifest(const char *format, const struct manifest *m);
/* Whole text to stdout; a terminal only shows it (cli/tame.h). */
void output_text(const struct buf *text);
/* All bytes to a descriptor of the user's: it may be a pipe to a slow reader, or set not to block
 * by another program. 0 or a negative errno. */
int output_bytes(int fd, const char *data, size_t len) must_check;

#endif
