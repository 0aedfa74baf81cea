/*
 * spdy_dictionary.c - the preset dictionary of SPDY/3 header blocks (draft 3, section 2.6.10.1):
 * words with a four-byte length prefix, then words without. Built from the list on first use; only
 * the loop's thread uses it.
 */
#include <string.h>

#include "net/spdy.h"

static const char *const words[] = {
    "options",
    "head",
    "post",
    "put",
    "delete",
    "trace",
    "accept",
    "accept-charset",
    "accept-encoding",
    "accept-language",
    "accept-ranges",
    "age",
    "allow",
    "authorization",
    "cache-control",
    "connection",
    "content-base",
    "content-encoding",
    "content-language",
    "content-length",
    "content-location",
    "content-md5",
    "content-range",
    "content-type",
    "date",
    "etag",
    "expect",
    "expires",
    "from",
    "host",
    "if-match",
    "if-modified-since",
    "if-none-match",
    "if-range",
    "if-unmodified-since",
    "last-modified",
    "location",
    "max-forwards",
    "pragma",
    "proxy-authenticate",
    "proxy-authorization",
    "range",
    "referer",
    "retry-after",
    "server",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "user-agent",
    "vary",
    "via",
    "warning",
    "www-authenticate",
    "method",
    "get",
    "status",
    "200 OK",
    "version",
    "HTTP/1.1",
    "url",
    "public",
    "set-cookie",
    "keep-alive",
    "origin",
};

static const char rest[] =
    "100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505"
    "203 Non-Authoritative Information204 No Content301 Moved Permanently400 Bad Request"
    "401 Unauthorized403 Forbidden404 Not Found500 Internal Server Error501 Not Implemented"
    "503 Service UnavailableJan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00 Mon, Tue, "
    "Wed, Thu, Fri, Sat, Sun, GMTchunked,text/html,image/png,image/jpg,image/gif,application/xml,"
    "application/xhtml+xml,text/plain,text/javascript,publicprivatemax-age=gzip,deflate,sdch"
    "charset=utf-8charset=iso-8859-1,utf-,*,enq=0.";

const unsigned char *spdy_dictionary(void)
{
    static unsigned char dictionary[SPDY_DICTIONARY_BYTES];
    size_t n = 0;

    if (dictionary[3] != 0)
        return dictionary;
    for (size_t i = 0; i < ELEMS(words); i++) {
        size_t len = strlen(words[i]); /* less than 256: three zero bytes, then the length */

        dictionary[n + 3] = (unsigned char)len;
        memcpy(dictionary + n + 4, words[i], len);
        n += 4 + len;
    }
    memcpy(dictionary + n, rest, min_size(sizeof(rest) - 1, sizeof(dictionary) - n));
    return dictionary;
}
