CREATE OR REPLACE VIEW story_buckets AS
SELECT
  id AS bucket,
  (body ->> '$.archivedCount')::BIGINT AS archived_count,
  (body ->> '$.everythingCount')::BIGINT AS everything_count,
  (body ->> '$.forYouCount')::BIGINT AS for_you_count,
  (body ->> '$.unreadCount')::BIGINT AS unread_count,
  raw.moment(body ->> '$.visitedThrough') AS visited_through,
  fetched_at AS synced_at,
  run_id
FROM raw.documents
WHERE endpoint = 'story_buckets';

COMMENT ON VIEW story_buckets IS 'How many stories are there in all, archived, for the viewer and unread? A list has at most 100 of them. One row per bucket that was fetched, with the counts of its answer.';
COMMENT ON COLUMN story_buckets.bucket IS 'Bucket of the stories list that was fetched: everything, archived, for-you or unread.';
COMMENT ON COLUMN story_buckets.archived_count IS 'Archived stories.';
COMMENT ON COLUMN story_buckets.everything_count IS 'All stories.';
COMMENT ON COLUMN story_buckets.for_you_count IS 'Stories that concern the viewer.';
COMMENT ON COLUMN story_buckets.unread_count IS 'Stories that the viewer has not read.';
COMMENT ON COLUMN story_buckets.visited_through IS 'When the viewer last visited the stories (UTC).';
COMMENT ON COLUMN story_buckets.synced_at IS 'When the answer arrived that last changed these counts (UTC).';
COMMENT ON COLUMN story_buckets.run_id IS 'Run that last changed these counts (ops.runs).';
