/* What a power cut would leave of a log. With every fdatasync of one, what it holds by then is copied to the file that
 * POWER_CUT_COPY names, and a line is added to the file beside it that counts them. If the log holds the text in
 * POWER_CUT_AT by then, the power is cut. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static void put(const char *path, int flags, const char *bytes, size_t length)
{
	int out = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0600);
	if (out < 0 || write(out, bytes, length) != (ssize_t)length)
		_exit(99);
	close(out);
}

int fdatasync(int fd)
{
	char link[64], path[4096], beside[4200];
	struct stat stat;
	int result = (int)syscall(SYS_fdatasync, fd);
	const char *copy = getenv("POWER_CUT_COPY"), *at = getenv("POWER_CUT_AT");

	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	ssize_t length = readlink(link, path, sizeof path - 1);
	if (result != 0 || !copy || length < 6 || strncmp(path + length - 6, ".jsonl", 6) != 0)
		return result;
	if (fstat(fd, &stat) != 0)
		_exit(99);
	char *bytes = malloc((size_t)stat.st_size + 1);
	if (!bytes || pread(fd, bytes, (size_t)stat.st_size, 0) != stat.st_size)
		_exit(99);
	snprintf(beside, sizeof beside, "%s.new", copy);
	put(beside, O_TRUNC, bytes, (size_t)stat.st_size);
	if (rename(beside, copy) != 0)
		_exit(99);
	snprintf(beside, sizeof beside, "%s.count", copy);
	put(beside, O_APPEND, "sync\n", 5);
	if (at && memmem(bytes, (size_t)stat.st_size, at, strlen(at)))
		_exit(98);
	free(bytes);
	return 0;
}
