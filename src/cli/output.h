/* output.h - objects on stdout, as -o asks: json, yaml or name. Tables are the commands' own. */
#ifndef MUSTER_CLI_OUTPUT_H
#define MUSTER_CLI_OUTPUT_H

#include "api/kind.h"

/* For struct option_spec: what -o may be. */
extern const char *const output_formats[];
#define OUTPUT_FORMAT_NAMES "table|wide|json|yaml|name"

/* True when the format was one of json, yaml, name and has been printed. */
bool output_list(const char *format, const struct json *list);
/* Whole text to stdout. */
void output_text(const struct buf *text);

#endif
