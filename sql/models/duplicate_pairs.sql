-- What few have in common says most: of n topics with a word, each has n - 1 others that it may be the same as. So the
-- weight of what n have is ln((n - 0.5) / (n - 1.5)): 1.1 for two, 0.11 for ten. (The usual ln(N / n) of TF-IDF is for
-- finding texts about a subject: ten topics about one subject would beat two about one problem.) What more than 30 have
-- weighs nothing, and pairs are only looked for among those that share something rarer, so that the pairs to look at grow
-- with the topics and not with their square. A word is its first six letters, which brings its forms together.
--
-- What was merged away is compared as it was before: with its last texts, and without the conversations that the survivor
-- got from it. (A text that the survivor got since, an address or an account of a person cannot be taken back.)
WITH compared_topics AS (
  SELECT
    id,
    title,
    summary,
    keywords,
    successor_topic_id,
    merged_into_id,
    coalesce(conversations.began_at, time_range_start, created_at) AS began_at
  FROM topics
  LEFT JOIN (
    SELECT versions.topic_id, min(groups.start_timestamp) AS began_at
    FROM topic_group_versions AS versions
    JOIN groups ON groups.id = versions.group_id
    WHERE versions.reason IS DISTINCT FROM 'merged'
    GROUP BY versions.topic_id
  ) AS conversations ON conversations.topic_id = topics.id
  WHERE merged_into_id IS NOT NULL
    OR (
      deleted_at IS NULL
      AND archived_at IS NULL
      AND superseded_at IS NULL
      AND coalesce(graph_status, 'active') = 'active'
      AND detail_unavailable_reason IS NULL
    )
),
topic_words AS (
  SELECT
    id,
    unnest(
      regexp_extract_all(
        lower(strip_accents(concat_ws(' ', title, summary, array_to_string(keywords, ' ')))),
        '[\p{L}\p{N}]{3,}'
      )
    ) AS word
  FROM compared_topics
),
customers AS (
  SELECT people.id AS person_id, people.company_id
  FROM people
  LEFT JOIN companies ON companies.id = people.company_id
  WHERE companies.is_org_company IS NOT TRUE
),
topic_customers AS (
  SELECT DISTINCT versions.topic_id AS id, customers.person_id, customers.company_id
  FROM topic_group_versions AS versions
  JOIN compared_topics AS topics ON topics.id = versions.topic_id
  JOIN group_people USING (group_id)
  JOIN customers USING (person_id)
  WHERE versions.reason IS DISTINCT FROM 'merged'
    AND (topics.merged_into_id IS NOT NULL OR versions.last_seen_at IS NULL)
),
compared_people AS (
  SELECT id, display_name, lower(primary_email) AS email, company_id, merged_into_id
  FROM people
  WHERE merged_into_id IS NOT NULL OR deleted_at IS NULL
),
-- What a topic or a person has that another may have as well.
marks AS MATERIALIZED (
  SELECT 'topic' AS entity_type, 'word' AS kind, id, left(word, 6) AS mark, min(word) AS shown
  FROM topic_words
  GROUP BY ALL
  UNION ALL
  SELECT 'topic', 'person', id, person_id, NULL FROM topic_customers
  UNION ALL
  SELECT DISTINCT 'topic', 'company', id, company_id, NULL FROM topic_customers WHERE company_id IS NOT NULL
  UNION ALL
  SELECT 'person', 'e-mail address', id, email, NULL FROM compared_people WHERE email IS NOT NULL
  UNION ALL
  SELECT 'person', 'e-mail name', id, split_part(email, '@', 1), NULL
  FROM compared_people
  WHERE length(split_part(email, '@', 1)) > 3
  UNION ALL
  SELECT 'person', 'name', id, lower(strip_accents(trim(display_name))), NULL
  FROM compared_people
  WHERE length(trim(display_name)) > 4
  UNION ALL
  SELECT DISTINCT 'person', 'account name', person_id, lower(platform_username), NULL
  FROM person_identities
  JOIN compared_people ON compared_people.id = person_id
  WHERE length(platform_username) > 3
),
rarity AS (
  SELECT entity_type, kind, mark, count(*) AS among, ln((among - 0.5) / (among - 1.5)) AS weight
  FROM marks
  GROUP BY ALL
  HAVING count(*) BETWEEN 2 AND 30
),
rare AS (
  SELECT * FROM marks JOIN rarity USING (entity_type, kind, mark)
),
pairs AS MATERIALIZED (
  SELECT
    one.entity_type,
    one.id AS id_1,
    other.id AS id_2,
    -- Rounded, because a sum of fractions depends on their order.
    round(coalesce(sum(one.weight) FILTER (one.kind NOT IN ('person', 'company')), 0), 6) AS evidence,
    count(*) FILTER (one.kind = 'person') AS people,
    count(*) FILTER (one.kind = 'company') AS companies
  FROM rare AS one
  JOIN rare AS other
    ON other.entity_type = one.entity_type AND other.kind = one.kind AND other.mark = one.mark AND other.id > one.id
  GROUP BY ALL
  HAVING evidence >= 0.25
),
-- The two best of each topic: one that shares as much with others belongs to a series about one subject.
best AS (
  SELECT id, max(evidence, 2) AS two
  FROM (SELECT id_1 AS id, evidence FROM pairs UNION ALL SELECT id_2, evidence FROM pairs)
  GROUP BY id
),
weighed_topics AS (
  SELECT
    pairs.*,
    CASE
      WHEN len(one.keywords) > 0 AND len(other.keywords) > 0
        THEN len(list_intersect(one.keywords, other.keywords))
    END AS keywords,
    abs(epoch(one.began_at) - epoch(other.began_at)) / 86400 AS days_apart,
    one.successor_topic_id = other.id OR other.successor_topic_id = one.id AS is_successor,
    if(best_1.two[1] > evidence, best_1.two[1], coalesce(best_1.two[2], 0)) AS next_1,
    if(best_2.two[1] > evidence, best_2.two[1], coalesce(best_2.two[2], 0)) AS next_2
  FROM pairs
  JOIN compared_topics AS one ON one.id = id_1
  JOIN compared_topics AS other ON other.id = id_2
  JOIN best AS best_1 ON best_1.id = id_1
  JOIN best AS best_2 ON best_2.id = id_2
  WHERE entity_type = 'topic'
),
topic_strengths AS (
  SELECT
    *,
    evidence * (evidence / (evidence + (next_1 + next_2) / 2))
    * if(keywords IS NULL, 1, 0.5 + 0.5 * least(keywords, 2))
    * (1 + 0.5 * least(people, 1) + 0.5 * least(companies, 1))
    * coalesce(exp(-days_apart / 90), 0.5)
    + if(is_successor, 2, 0) AS strength
  FROM weighed_topics
),
weighed_people AS (
  SELECT pairs.*, one.company_id = other.company_id AS is_same_company
  FROM pairs
  JOIN compared_people AS one ON one.id = id_1
  JOIN compared_people AS other ON other.id = id_2
  WHERE entity_type = 'person'
),
person_strengths AS (
  SELECT *, evidence * CASE WHEN is_same_company THEN 1.5 WHEN NOT is_same_company THEN 0.5 ELSE 1 END AS strength
  FROM weighed_people
),
scored AS (
  SELECT
    entity_type,
    id_1,
    id_2,
    round(strength / (1 + strength), 3) AS score,
    [
      CASE WHEN people > 0 THEN concat(people, if(people = 1, ' person', ' people'), ' in both') END,
      CASE WHEN companies > 0 THEN concat(companies, if(companies = 1, ' company', ' companies'), ' in both') END,
      CASE WHEN keywords > 0 THEN concat(keywords, if(keywords = 1, ' keyword', ' keywords'), ' in common') END,
      CASE WHEN is_successor THEN 'one supersedes the other' END,
      CASE round(days_apart)
        WHEN 0 THEN 'began on the same day'
        WHEN 1 THEN 'began 1 day apart'
        ELSE 'began ' || round(days_apart)::BIGINT || ' days apart'
      END
    ] AS facts
  FROM topic_strengths
  UNION ALL
  SELECT
    entity_type,
    id_1,
    id_2,
    round(strength / (1 + strength), 3) AS score,
    [CASE WHEN is_same_company THEN 'same company' WHEN NOT is_same_company THEN 'different companies' END] AS facts
  FROM person_strengths
),
-- Below it, hardly one of ten was right in the sandbox.
listed AS (
  SELECT * FROM scored WHERE score >= 0.25
),
shared AS (
  SELECT
    listed.entity_type,
    id_1,
    id_2,
    list(DISTINCT one.kind) FILTER (one.entity_type = 'person') AS kinds,
    list(one.shown ORDER BY one.among, one.shown) FILTER (one.kind = 'word') AS words
  FROM listed
  JOIN rare AS one ON one.entity_type = listed.entity_type AND one.id = id_1
  JOIN rare AS other
    ON other.entity_type = one.entity_type AND other.id = id_2 AND other.kind = one.kind AND other.mark = one.mark
  GROUP BY ALL
),
merged AS (
  SELECT 'topic' AS entity_type, id, merged_into_id FROM compared_topics WHERE merged_into_id IS NOT NULL
  UNION ALL
  SELECT 'person', id, merged_into_id FROM compared_people WHERE merged_into_id IS NOT NULL
)
SELECT
  listed.entity_type,
  listed.id_1,
  listed.id_2,
  score,
  list_filter(
    list_concat(
      list_transform(list_sort(coalesce(kinds, [])), lambda kind: concat('same ', kind)),
      [CASE WHEN len(words) > 0 THEN concat('rare words: ', array_to_string(words[:5], ', ')) END],
      facts
    ),
    lambda reason: reason IS NOT NULL
  ) AS reasons,
  CASE
    WHEN first.merged_into_id = listed.id_2 OR second.merged_into_id = listed.id_1 THEN 'merged'
    WHEN first.id IS NOT NULL OR second.id IS NOT NULL THEN 'gone'
    ELSE 'open'
  END AS outcome
FROM listed
LEFT JOIN shared USING (entity_type, id_1, id_2)
LEFT JOIN merged AS first ON first.entity_type = listed.entity_type AND first.id = listed.id_1
LEFT JOIN merged AS second ON second.entity_type = listed.entity_type AND second.id = listed.id_2
