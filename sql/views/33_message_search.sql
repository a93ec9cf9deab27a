-- Plain SQL instead of the extension fts, which readers may not have.

CREATE OR REPLACE MACRO search_terms(words) AS TABLE
WITH tokens AS (
  SELECT unnest(list) AS token, generate_subscripts(list, 1) AS position
  FROM (SELECT regexp_extract_all(words::VARCHAR, '-?"[^"]*"?|\S+') AS list)
),
placed AS (
  SELECT
    position,
    lower(strip_accents(token)) AS token,
    token IN ('AND', 'OR', 'NOT') AS is_operator,
    count(*) FILTER (token = 'OR') OVER before AS alternative,
    count(*) FILTER (token = 'AND') OVER before AS part,
    regexp_matches(token, '^-["\p{L}\p{N}]') OR coalesce(lag(token) OVER before, '') = 'NOT' AS is_excluded
  FROM tokens
  WINDOW before AS (ORDER BY position)
),
terms AS (
  SELECT
    placed.*,
    -- The v of a version may be there or not: v4.12, 4.12.
    regexp_extract_all(regexp_replace(token, '^\P{L}*v(\d)', '\1'), '[\p{L}\p{N}]+') AS parts,
    -- Languages that write no spaces have no borders of words either.
    CASE WHEN NOT regexp_matches(token, '[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}]') THEN ' ' END AS border
  FROM placed
  WHERE NOT is_operator
)
SELECT
  position,
  alternative,
  part,
  is_excluded,
  parts[1] AS first_word,
  concat(border, array_to_string(parts, ' ')) AS beginning,
  concat(beginning, CASE WHEN token NOT LIKE '%*' THEN border END) AS term
FROM terms
WHERE len(parts) > 0;

-- What fits a search, and how well: a message by itself, or a conversation with all its messages. Okapi BM25: a term counts
-- more when few messages have it, when a message has it often, and when the message is short. A long conversation is not
-- better because it says it again: each term counts where it counts most.
CREATE OR REPLACE MACRO search_ranked(words, in_conversations) AS TABLE
WITH terms AS (
  FROM search_terms(words)
),
parts AS (
  SELECT alternative, count(DISTINCT part) AS parts
  FROM terms
  WHERE NOT is_excluded
  GROUP BY alternative
),
texts AS (
  SELECT if(in_conversations, group_id, id) AS id, lower(strip_accents(concat_ws(' ', title, content))) AS text
  FROM messages
  WHERE deleted_at IS NULL
),
-- Only of those that may fit: the words between single spaces, so that a border is a space.
spaced AS (
  SELECT id, concat(' ', regexp_replace(regexp_replace(text, '\bv(\d)', '\1', 'g'), '[^\p{L}\p{N}]+', ' ', 'g'), ' ') AS text
  FROM texts
  WHERE EXISTS (SELECT 1 FROM terms WHERE contains(texts.text, terms.first_word))
),
-- Both as the words were asked for, and as beginnings of words. What is excluded is excluded as asked.
searched AS (
  SELECT matched, terms.*, if(matched = 'word' OR is_excluded, term, beginning) AS wanted
  FROM terms
  CROSS JOIN (VALUES ('word'), ('beginning')) AS modes (matched)
),
found AS MATERIALIZED (
  SELECT
    spaced.id,
    searched.matched,
    searched.position,
    searched.alternative,
    searched.part,
    searched.is_excluded,
    (length(spaced.text) - length(replace(spaced.text, searched.wanted, ''))) / length(searched.wanted) AS times,
    length(spaced.text) AS length
  FROM spaced
  JOIN searched ON contains(spaced.text, searched.wanted)
),
fitting AS MATERIALIZED (
  SELECT found.id, found.matched, found.alternative
  FROM found
  JOIN parts USING (alternative)
  GROUP BY found.id, found.matched, found.alternative, parts.parts
  HAVING bool_and(NOT found.is_excluded) AND count(DISTINCT found.part) = parts.parts
),
-- Beginnings only where nothing has the words themselves.
hits AS (
  FROM found
  WHERE matched = (SELECT max(matched) FROM fitting)
),
rarity AS (
  SELECT position, ln(1 + (SELECT count(*) FROM messages WHERE deleted_at IS NULL) / count(*)) AS weight
  FROM hits
  GROUP BY position
),
best AS (
  SELECT
    hits.id,
    hits.matched,
    hits.position,
    max(
      rarity.weight * hits.times * 2.2
      / (hits.times + 0.3 + 0.9 * hits.length / (SELECT greatest(avg(length), 1) FROM hits))
    ) AS score
  FROM hits
  JOIN fitting USING (id, matched, alternative)
  JOIN rarity ON rarity.position = hits.position
  GROUP BY hits.id, hits.matched, hits.position
)
SELECT id, matched, sum(score) AS score, count(*) AS words_found
FROM best
GROUP BY id, matched;

CREATE OR REPLACE MACRO message_search(words) AS TABLE
WITH ranked AS MATERIALIZED (
  FROM search_ranked(words, false)
)
SELECT
  ranked.id AS message_id,
  ranked.score,
  ranked.words_found,
  ranked.matched,
  (SELECT count(*) FROM ranked) AS found,
  messages.created_at,
  messages.source_name,
  sender.sender_name AS author_name,
  sender.side,
  messages.group_id,
  topic.topic_id,
  topic.title AS topic_title,
  messages.content,
  messages.source_url
FROM ranked
JOIN messages ON messages.id = ranked.id
LEFT JOIN message_senders AS sender ON sender.message_id = ranked.id
LEFT JOIN conversation_topics AS topic ON topic.group_id = messages.group_id
ORDER BY ranked.score DESC, messages.created_at DESC, ranked.id;

CREATE OR REPLACE MACRO conversation_search(words) AS TABLE
WITH ranked AS MATERIALIZED (
  FROM search_ranked(words, true)
),
written AS (
  SELECT group_id, count(*) AS messages, min(created_at) AS first_message_at, max(created_at) AS last_message_at
  FROM messages
  WHERE deleted_at IS NULL
  GROUP BY group_id
)
SELECT
  ranked.id AS group_id,
  ranked.score,
  ranked.words_found,
  ranked.matched,
  (SELECT count(*) FROM ranked) AS found,
  groups.title,
  topic.topic_id,
  topic.title AS topic_title,
  written.messages,
  written.first_message_at,
  written.last_message_at
FROM ranked
JOIN written ON written.group_id = ranked.id
LEFT JOIN groups ON groups.id = ranked.id
LEFT JOIN conversation_topics AS topic ON topic.group_id = ranked.id
ORDER BY ranked.score DESC, written.last_message_at DESC, ranked.id;

COMMENT ON MACRO TABLE search_terms IS 'How a search is read: one row per word or phrase, with its alternative (between OR) and its part (between AND). For message_search and conversation_search.';
COMMENT ON MACRO TABLE search_ranked IS 'What fits a search, and how well? For message_search and conversation_search.';
COMMENT ON MACRO TABLE message_search IS 'Which messages say this? One row per message that is not deleted and has it in its title or text, in any case, with or without accents; the best come first (score). Words beside each other: any of them; words_found says how many, and rare ones count more. AND: both; OR: one of the two; NOT word or -word: without it; "a phrase"; begin*: words that begin so. Where no message has the words, those with words that begin so (matched is beginning instead of word). v4.12 finds 4.12, and the other way round. AND binds more than OR. found is the number of all that fit: add LIMIT.';
COMMENT ON MACRO TABLE conversation_search IS 'Which conversations say this? As message_search, anywhere in a conversation: its words may be in different messages.';
