-- Plain SQL instead of the extension fts, which readers may not have. Okapi BM25: a word counts more when few messages have
-- it, when a message has it often, and when the message is short.
CREATE OR REPLACE MACRO message_search(words) AS TABLE
WITH wanted AS (
  SELECT DISTINCT unnest(regexp_extract_all(lower(strip_accents(words::VARCHAR)), '[\p{L}\p{N}]+')) AS word
),
texts AS (
  SELECT id, lower(strip_accents(concat_ws(' ', title, content))) AS text
  FROM messages
  WHERE deleted_at IS NULL
),
found AS (
  SELECT
    texts.id,
    wanted.word,
    (length(texts.text) - length(replace(texts.text, wanted.word, ''))) / length(wanted.word) AS times,
    length(texts.text) AS length
  FROM texts
  JOIN wanted ON contains(texts.text, wanted.word)
),
rarity AS (
  SELECT word, ln(1 + (SELECT count(*) FROM messages WHERE deleted_at IS NULL) / count(*)) AS weight
  FROM found
  GROUP BY word
),
ranked AS (
  SELECT
    found.id,
    count(*) AS words_found,
    sum(
      rarity.weight * found.times * 2.2
      / (found.times + 0.3 + 0.9 * found.length / (SELECT greatest(avg(length), 1) FROM found))
    ) AS score
  FROM found
  JOIN rarity USING (word)
  GROUP BY found.id
)
SELECT
  ranked.id AS message_id,
  ranked.score,
  ranked.words_found,
  messages.created_at,
  messages.source_name,
  author.display_name AS author_name,
  sender.side,
  messages.group_id,
  topic.topic_id,
  topic.title AS topic_title,
  messages.content,
  messages.source_url
FROM ranked
JOIN messages ON messages.id = ranked.id
LEFT JOIN message_senders AS sender ON sender.message_id = ranked.id
LEFT JOIN author_people AS author ON author.author_id = messages.author_id
LEFT JOIN conversation_topics AS topic ON topic.group_id = messages.group_id
ORDER BY ranked.score DESC, messages.created_at DESC, ranked.id;

COMMENT ON MACRO TABLE message_search IS 'Which messages contain these words? One row per message that is not deleted and has any of them, in its title or text, also as part of a longer word, in any case and with or without accents. The best come first (score), and those with all words before most others: words_found counts them. Add LIMIT.';
