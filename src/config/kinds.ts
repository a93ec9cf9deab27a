import { z } from 'zod';

/** The sorts of values that settings have. Objects are strict: a misspelt setting is an error, never ignored. */

export const positive = z.number().int().min(1);
/** A timer of Node that is set to more than this fires at once. */
const longestTimerMs = 2_147_483_647;
export const milliseconds = positive.max(longestTimerMs);
export const days = z.number().min(0.01);
export const text = z.string().trim().min(1);

/** A part of the settings that may be left out as a whole. */
export const section = <T extends z.ZodRawShape>(shape: T) => z.strictObject(shape).prefault({} as never);
