/* SPDX-License-Identifier: ISC */
/*
 * The layout that the writer and the reader of checkpoints share. The bytes
 * are kept by agents that outlive the server that wrote them: whoever changes
 * the layout counts the version up, and an older reader refuses it (the
 * output since the ring's beginning is replayed instead).
 *
 * A screen is written in the lowest version that can say what it holds, so that
 * an older reader refuses those only that it could not show:
 *	1	the first one
 *	2	other character sets than ASCII, line drawing and British; rows
 *		of double width (bits 1 and 2 of a row's first byte)
 */
#ifndef DLMUX_CHECKPOINT_H
#define DLMUX_CHECKPOINT_H

#define CHECKPOINT_MAGIC	0x444c434bu	/* "DLCK" */
#define CHECKPOINT_VERSION	2	/* the newest */

/* What a run of cells of one pen is made of. */
enum checkpoint_run {
	CHECKPOINT_BLANK,	/* never written or erased: nothing follows */
	CHECKPOINT_ASCII,	/* a byte each */
	CHECKPOINT_ANY		/* u32 character or cluster, u8 width */
};

#endif
