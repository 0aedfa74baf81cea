/* names.c - syntax of names, labels and their values. The messages use Kubernetes' wording, because
 * users search for it. */
#include <string.h>

#include "api/object.h"

#define LABEL_LIMIT 63u
#define NAME_LIMIT 253u

#define LABEL_RULE                                                                                 \
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "   \
    "must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex "     \
    "used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
#define LABEL_1035_RULE                                                                            \
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "   \
    "alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or "           \
    "'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
#define NAME_RULE                                                                                  \
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "   \
    "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used "  \
    "for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
#define QUALIFIED_RULE                                                                             \
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end "  \
    "with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for " \
    "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
#define VALUE_RULE                                                                                 \
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "    \
    "'.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value', " \
    " or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"

static bool lower_or_digit(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

static bool letter_or_digit(char c)
{
    return lower_or_digit(c) || (c >= 'A' && c <= 'Z');
}

static bool is_label(const char *text, size_t len)
{
    if (len == 0 || !lower_or_digit(text[0]) || !lower_or_digit(text[len - 1]))
        return false;
    for (size_t i = 0; i < len; i++)
        if (!lower_or_digit(text[i]) && text[i] != '-')
            return false;
    return true;
}

const char *dns_label_problem(const char *text)
{
    size_t len = strlen(text);

    if (len > LABEL_LIMIT)
        return "must be no more than 63 characters";
    return is_label(text, len) ? NULL : LABEL_RULE;
}

const char *dns_1035_label_problem(const char *text)
{
    size_t len = strlen(text);

    if (len > LABEL_LIMIT)
        return "must be no more than 63 characters";
    return is_label(text, len) && text[0] >= 'a' ? NULL : LABEL_1035_RULE;
}

static bool is_dns_name(const char *text, size_t len)
{
    size_t from = 0;

    for (size_t i = 0; i <= len; i++) {
        if (i < len && text[i] != '.')
            continue;
        if (!is_label(text + from, i - from))
            return false;
        from = i + 1;
    }
    return true;
}

const char *dns_name_problem(const char *text)
{
    size_t len = strlen(text);

    if (len > NAME_LIMIT)
        return "must be no more than 253 characters";
    return is_dns_name(text, len) ? NULL : NAME_RULE;
}

static bool is_qualified(const char *text, size_t len)
{
    if (len == 0 || !letter_or_digit(text[0]) || !letter_or_digit(text[len - 1]))
        return false;
    for (size_t i = 0; i < len; i++)
        if (!letter_or_digit(text[i]) && !strchr("-_.", text[i]))
            return false;
    return true;
}

const char *label_key_problem(const char *text)
{
    const char *slash = strchr(text, '/'), *name = slash ? slash + 1 : text;
    size_t len = strlen(name);

    if (slash && slash == text)
        return "prefix part must be non-empty";
    if (slash && slash - text > (ptrdiff_t)NAME_LIMIT)
        return "prefix part must be no more than 253 characters";
    if (slash && !is_dns_name(text, (size_t)(slash - text)))
        return "prefix part " NAME_RULE;
    if (strchr(name, '/'))
        return "a qualified name must consist of an optional DNS prefix, one '/' and a name";
    if (len == 0)
        return "name part must be non-empty";
    if (len > LABEL_LIMIT)
        return "name part must be no more than 63 characters";
    return is_qualified(name, len) ? NULL : QUALIFIED_RULE;
}

const char *label_value_problem(const char *text)
{
    size_t len = strlen(text);

    if (len > LABEL_LIMIT)
        return "must be no more than 63 characters";
    return len == 0 || is_qualified(text, len) ? NULL : VALUE_RULE;
}
