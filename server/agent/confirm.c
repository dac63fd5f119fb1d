/* SPDX-License-Identifier: ISC */
/* `agent --confirm SIZE CRC`; contract in confirm.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "../wire/frame.h"
#include "confirm.h"

static int
confirm_number(const char *s, int base, uint64_t *v)
{
	char *end;

	errno = 0;
	*v = strtoull(s, &end, base);
	return *s == '\0' || *end != '\0' || errno != 0 ? -1 : 0;
}

int
confirm_main(const char *size, const char *crc)
{
	static uint8_t chunk[64 << 10];
	uint64_t want, total = 0, sum;
	uint32_t c = 0;
	ssize_t n;
	int fd;

	if (confirm_number(size, 10, &want) == -1 ||
	    confirm_number(crc, 16, &sum) == -1 ||
	    (fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC)) == -1)
		return 1;
	while ((n = read(fd, chunk, sizeof chunk)) != 0) {
		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1)
			break;
		c = crc32c(c, chunk, (size_t)n);
		total += (uint64_t)n;
	}
	close(fd);
	return n == 0 && total == want && c == sum ? 0 : 1;
}
