/* output.h - prints objects according to -o: json, yaml or name; and plain bytes. Tables are up to
 * the commands. */
#ifndef MUSTER_CLI_OUTPUT_H
#define MUSTER_CLI_OUTPUT_H

#include "cli/manifest.h"

/* For struct option_spec: the values of -o. */
extern const char *const output_formats[];
#define OUTPUT_FORMAT_NAMES "table|wide|json|yaml|name|jsonpath=PATH"
/* own has the member format. */
#define OPTION_OUTPUT(own)                                                                         \
    OPTION_OF(OPTION_CHOICE, own, format, "output", OUTPUT_FORMAT_NAMES, "output format",          \
              .letter = 'o', .values = output_formats)

/* 1: printed; 0: the format is a table, which is up to the command; negative: the path of
 * jsonpath=.status.phase is invalid. Prints the path's value for each item, one per line. */
int output_list(const char *format, const struct json *list, struct err *err) must_check;
/* What --dry-run prints: own has the members dry_run and format. */
#define OPTION_DRY_RUN(own)                                                                        \
    OPTION_OF_FLAG(own, dry_run, "dry-run", "only print what would be created"),                   \
        OPTION_OF(OPTION_CHOICE, own, format, "output", "yaml|json",                               \
                  "output format of --dry-run (default yaml)", .letter = 'o',                      \
                  .values = output_manifest_formats)
extern const char *const output_manifest_formats[];
void output_manifest(const char *format, const struct manifest *m);
/* Writes the whole text to stdout; made safe for a terminal (cli/tame.h). */
void output_text(const struct buf *text);
/* Writes all bytes to a user's descriptor: it may be a pipe to a slow reader, or made non-blocking
 * by another program. 0 or a negative errno. */
int output_bytes(int fd, const char *data, size_t len) must_check;

#endif
