;;; lsp-completions-suggestion.el --- One suggestion in a buffer  -*- lexical-binding: t; -*-

;;; Commentary:

;; Whether a suggestion still fits the text, how it is drawn, and how it gets into the text.
;; Which one is shown, and when one is asked for, is up to `lsp-completions.el'.

;;; Code:

(require 'cl-lib)
(require 'subr-x)

(defface lsp-completions-ghost '((t :inherit shadow))
  "Face of suggestions before they are accepted."
  :group 'lsp-completions)

(cl-defstruct (lsp-completions-suggestion (:copier nil))
  server
  (item nil :documentation "As it came.")
  (line nil :documentation "A marker at the start of its line.")
  (before nil :documentation "The line in front of it.")
  (after nil :documentation "The line behind the cursor.")
  (replaced 0 :documentation "How many characters of that it replaces.")
  (text nil :documentation "What it inserts between them; what was accepted is gone from it.")
  (taken "" :documentation "What was accepted of it.")
  (shown nil :documentation "Whether the server was told that it is on the screen."))

(defun lsp-completions--get (object key)
  "The value of KEY, a string, in OBJECT: a hash table from lsp-mode, else a plist."
  (if (hash-table-p object)
      (gethash key object)
    (plist-get object (intern (concat ":" key)))))

(defun lsp-completions--around ()
  "The line in front of the cursor, and behind it."
  (save-restriction
    (widen)
    (cons (buffer-substring-no-properties (line-beginning-position) (point))
          (buffer-substring-no-properties (point) (line-end-position)))))

;;;; Whether it fits

(defun lsp-completions-suggestion-new (server item around)
  "The ITEM that SERVER answered where the line stood AROUND the cursor.
Nil if that is no suggestion."
  (let ((text (lsp-completions--get item "insertText")))
    (when (stringp text)
      (let* ((range (lsp-completions--get item "range"))
             (ends (mapcar (lambda (end)
                             (lsp-completions--get (lsp-completions--get range end) "character"))
                           '("start" "end")))
             (asked (lsp-completions--suggestion-at server item text around ends))
             (now (lsp-completions--around)))
        (if (or (equal now around) (and asked (lsp-completions-suggestion-rest asked)))
            asked
          ;; The server may know what was typed meanwhile, and have answered for that.
          (let ((later (lsp-completions--suggestion-at server item text now ends)))
            (and later (lsp-completions-suggestion-rest later) later)))))))

(defun lsp-completions--suggestion-at (server item text around ends)
  "The TEXT of an ITEM of SERVER between ENDS, columns of the line.
Nil if it is elsewhere than the cursor, which has that AROUND it."
  (let* ((column (length (car around)))
         (start (or (car ends) column))
         (end (or (cadr ends) column)))
    (when (and (<= start column end) (<= (- end column) (length (cdr around))))
      (make-lsp-completions-suggestion
       :server server :item item :text text
       :line (copy-marker (save-restriction (widen) (line-beginning-position)))
       :before (substring (car around) 0 start)
       :after (cdr around)
       :replaced (- end column)))))

(defun lsp-completions-suggestion-rest (suggestion)
  "What typing has left of SUGGESTION; nil where it does not fit."
  (pcase-let ((`(,before . ,after) (lsp-completions--around))
              (start (lsp-completions-suggestion-before suggestion))
              (text (lsp-completions-suggestion-text suggestion)))
    (when (and (eq (marker-buffer (lsp-completions-suggestion-line suggestion)) (current-buffer))
               (= (lsp-completions-suggestion-line suggestion)
                  (save-restriction (widen) (line-beginning-position)))
               (equal after (lsp-completions-suggestion-after suggestion))
               (string-prefix-p start before))
      (let ((typed (substring before (length start))))
        (and (string-prefix-p typed text)
             (not (equal typed text))
             (substring text (length typed)))))))

;;;; On the screen

(defun lsp-completions-suggestion-draw (suggestion hint)
  "Draw what is left of SUGGESTION, with a HINT behind its first line.
Returns the overlay; nil where it does not fit."
  (when-let* ((rest (lsp-completions-suggestion-rest suggestion)))
    (let* ((end (save-restriction (widen) (line-end-position)))
           (kept (min end (+ (point) (lsp-completions-suggestion-replaced suggestion))))
           (covers (or (> kept (point)) (and (string-search "\n" rest) (< kept end))))
           (lines (split-string rest "\n"))
           (ghost (string-join
                   (cons (concat (car lines)
                                 (and hint (propertize hint 'face 'lsp-completions-hint)))
                         (cdr lines))
                   "\n"))
           (overlay (make-overlay (point) (if covers end (point)) nil t)))
      (add-face-text-property 0 (length ghost) 'lsp-completions-ghost t ghost)
      ;; What follows the cursor is drawn over, and what stays of it again where it will stand.
      (when covers
        (setq ghost (concat ghost (buffer-substring kept end))))
      ;; The cursor stays in front of it.
      (put-text-property 0 1 'cursor t ghost)
      (overlay-put overlay 'priority 1000)
      (overlay-put overlay 'window (selected-window))
      (when covers
        (overlay-put overlay 'display ""))
      (overlay-put overlay (if covers 'before-string 'after-string) ghost)
      overlay)))

(defface lsp-completions-hint '((t :inherit (lsp-completions-ghost bold)))
  "Face of what tells how many suggestions there are."
  :group 'lsp-completions)

;;;; Into the text

(defun lsp-completions--next-word (text)
  "The first word of TEXT: letters, or other signs, with the blanks before them."
  (string-match "\\`[ \t\n\r\f]*\\(?:[[:alnum:]_]+\\|[^[:alnum:]_ \t\n\r\f]*\\)" text)
  (match-string 0 text))

(defun lsp-completions--next-line (text)
  "The first line of TEXT, to where the cursor is after typing it and its break."
  (string-match "\\`\n*[^\n]*\\(?:\n[ \t]*\\)?" text)
  (match-string 0 text))

(defun lsp-completions-suggestion-take (suggestion part)
  "Put PART of SUGGESTION into the text: `all', `word' or `line'.
Returns how it is to be reported: nil where it does not fit, `all', or else
how much of it was accepted till now, in UTF-16."
  (when-let* ((rest (lsp-completions-suggestion-rest suggestion)))
    (let* ((piece (pcase part
                    ('word (lsp-completions--next-word rest))
                    ('line (lsp-completions--next-line rest))
                    (_ rest)))
           (whole (equal piece rest))
           (text (lsp-completions-suggestion-text suggestion))
           (typed (substring text 0 (- (length text) (length rest))))
           (taken (concat (lsp-completions-suggestion-taken suggestion) typed piece)))
      ;; What was typed before it is undone apart from it.
      (undo-boundary)
      (when whole
        (delete-region (point) (+ (point) (lsp-completions-suggestion-replaced suggestion))))
      (insert piece)
      (undo-boundary)
      (setf (lsp-completions-suggestion-taken suggestion) taken
            (lsp-completions-suggestion-text suggestion) (substring rest (length piece))
            (lsp-completions-suggestion-before suggestion) (car (lsp-completions--around)))
      (set-marker (lsp-completions-suggestion-line suggestion)
                  (save-restriction (widen) (line-beginning-position)))
      (if (and whole (eq part 'all))
          'all
        (/ (string-bytes (encode-coding-string taken 'utf-16le t)) 2)))))

(provide 'lsp-completions-suggestion)
;;; lsp-completions-suggestion.el ends here
