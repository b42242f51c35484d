DELETE FROM `fact_subjects` WHERE scope IN ('subscription', 'customer') AND substr(rtrim(fact_id, '0123456789'), -1) = '#'
	AND (SELECT kind FROM `facts` f WHERE f.program_id = fact_subjects.program_id AND f.provider = fact_subjects.provider AND f.fact_id = fact_subjects.fact_id) = 'attribution'
	AND EXISTS (
		SELECT 1 FROM `fact_subjects` s JOIN `facts` f ON f.program_id = s.program_id AND f.provider = s.provider AND f.fact_id = s.fact_id
		WHERE s.program_id = fact_subjects.program_id AND s.provider = fact_subjects.provider AND s.scope = fact_subjects.scope AND s.subject = fact_subjects.subject
			AND s.fact_id >= rtrim(fact_subjects.fact_id, '0123456789') AND s.fact_id < rtrim(fact_subjects.fact_id, '0123456789') || ':'
			AND f.kind = 'attribution' AND EXISTS (SELECT 1 FROM `partner_slugs` p WHERE p.program_id = f.program_id AND p.slug_key = f.ref_key)
			AND CAST(substr(s.fact_id, length(rtrim(s.fact_id, '0123456789')) + 1) AS integer)
				< CAST(substr(fact_subjects.fact_id, length(rtrim(fact_subjects.fact_id, '0123456789')) + 1) AS integer));
