/* SPDX-License-Identifier: ISC */
/*
 * A growable byte buffer with a maximum fixed at birth, and the readers and
 * writers of the wire's primitive types (big-endian integers, strings with a
 * u32 length). Every dlmux message, state file and checkpoint is built and
 * taken apart with these, so bounds are checked in one place.
 *
 * Writing: a buffer that would pass its maximum sets a sticky error and
 * ignores the write; callers build a whole message and ask buf_ok() once.
 * Reading: struct rd is a cursor over bytes that somebody else owns; a read
 * past the end sets a sticky error and yields zero, so a parser reads as the
 * list of its fields and asks rd_end() once. rd_end() also refuses trailing
 * bytes.
 */
#ifndef DLMUX_BUF_H
#define DLMUX_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf {
	uint8_t	*data;		/* owned; NULL while empty */
	size_t	 len;		/* bytes in use */
	size_t	 cap;		/* bytes allocated */
	size_t	 max;		/* never grows past this */
	bool	 failed;	/* sticky: a write did not fit */
};

/* In place; max is in bytes. buf_free() accepts a cleared or zeroed buf. */
void	 buf_init(struct buf *, size_t max);
void	 buf_free(struct buf *);
void	 buf_reset(struct buf *);		/* len 0, error cleared */
bool	 buf_ok(const struct buf *);
/* Drops n bytes from the front (n <= len). */
void	 buf_drain(struct buf *, size_t n);
/* Room for n more bytes at data+len, or NULL (sets the error). Caller adds
 * what it used to len. */
uint8_t	*buf_reserve(struct buf *, size_t n);

void	 buf_put(struct buf *, const void *, size_t);
void	 buf_puts(struct buf *, const char *);	/* bytes, no NUL, no length */
void	 buf_printf(struct buf *, const char *, ...)
	    __attribute__((format(printf, 2, 3)));
void	 buf_u8(struct buf *, uint8_t);
void	 buf_u16(struct buf *, uint16_t);
void	 buf_u32(struct buf *, uint32_t);
void	 buf_u64(struct buf *, uint64_t);
void	 buf_str(struct buf *, const char *);	/* u32 length + bytes; NULL is "" */
void	 buf_bin(struct buf *, const void *, size_t); /* u32 length + bytes */
/* u32 count, then that many strings. strv ends with NULL; NULL is empty. */
void	 buf_strv(struct buf *, char *const *strv);

struct rd {
	const uint8_t	*p;
	size_t		 left;
	bool		 failed;
};

void	 rd_init(struct rd *, const void *, size_t);
uint8_t	 rd_u8(struct rd *);
uint16_t rd_u16(struct rd *);
uint32_t rd_u32(struct rd *);
uint64_t rd_u64(struct rd *);
/* n raw bytes, or NULL. */
const uint8_t *rd_raw(struct rd *, size_t n);
/* A length-prefixed string within [0,max] without NUL inside: malloc'd and
 * NUL-terminated, caller frees; NULL on error. */
char	*rd_str(struct rd *, size_t max);
/* A length-prefixed blob, in place; NULL on error (*len set to 0). */
const uint8_t *rd_bin(struct rd *, size_t max, size_t *len);
/* A vector of at most maxn strings, together at most max bytes; NULL-ended,
 * free with strv_free(); NULL on error. */
char	**rd_strv(struct rd *, size_t maxn, size_t max);
/* All that is left, in place. */
const uint8_t *rd_rest(struct rd *, size_t *len);
/* True if nothing failed and nothing is left. */
bool	 rd_end(const struct rd *);

void	 strv_free(char **);
size_t	 strv_len(char *const *);
bool	 strv_has(char *const *, const char *);	/* NULL has none */
char	**strv_copy(char *const *);	/* of NULL an empty one */

#endif
