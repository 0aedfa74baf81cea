#include "cli/words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool wants_chinese(void)
{
    static const char *const variables[] = {"LC_ALL", "LC_MESSAGES", "LANG"};

    for (size_t i = 0; i < ELEMS(variables); i++) {
        const char *value = getenv(variables[i]);

        if (value && *value)
            return strncmp(value, "zh", 2) == 0;
    }
    return false;
}

const char *words(const char *english)
{
    static int chinese = -1;

    if (chinese < 0)
        chinese = wants_chinese();
    for (const struct words_pair *p = words_chinese; chinese && p->english; p++)
        if (strcmp(p->english, english) == 0)
            return p->chinese;
    return english;
}

const char *words_of_help(const char *command, const char *english)
{
    char key[64];
    const char *text;

    (void)snprintf(key, sizeof(key), "help %s", command);
    text = words(key);
    return text == key ? english : text;
}
